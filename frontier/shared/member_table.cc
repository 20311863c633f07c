#include "frontier/shared/member_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/coding.h"

namespace trawl {

std::string encode_member_session(std::string_view session) {
  std::string out;
  put_string(out, session);
  return out;
}

std::string encode_member(const MemberRecord& record) {
  std::string out = encode_member_session(record.session);
  put_varint(out, record.beat);
  put_varint(out, record.buckets);
  put_varint(out, record.idle);
  return out;
}

std::optional<MemberRecord> decode_member(std::string_view value) {
  Decoder decoder(value);
  MemberRecord record;
  record.session = decoder.string();
  record.beat = decoder.varint();
  record.buckets = decoder.varint();
  record.idle = decoder.varint();
  // A newer version may append fields.
  if (!decoder.ok()) return std::nullopt;
  return record;
}

Result<void> MemberTable::see(const std::vector<Seen>& members, BootTime now) {
  bool has_rival = false;
  // While they could not be read nobody grew older.
  const auto not_seen = has_missed_ && looked_ ? now - *looked_ : BootTime::duration::zero();
  for (auto& one : known_)
    one.second.since += not_seen;
  looked_ = now;
  has_missed_ = false;
  for (const Seen& seen : members) {
    if (seen.name == options_.self) {
      has_rival = seen.record.session != options_.session;
      if (!has_rival) continue;
      if (auto alone = see_rival(seen.record, now); !alone) return alone;
      continue;
    }
    const auto [at, added] = known_.try_emplace(seen.name, Known{seen.record, now});
    if (added || at->second.record == seen.record) continue;
    // A process that was started again under the same name goes on with the record.
    at->second = {.record = seen.record, .since = now, .moved = true};
  }
  if (!has_rival) rival_.reset();
  std::erase_if(known_, [&](const auto& one) {
    return std::ranges::none_of(members, [&](const Seen& s) { return s.name == one.first; });
  });
  return {};
}

Result<void> MemberTable::see_rival(const MemberRecord& record, BootTime now) {
  if (!rival_) {
    rival_ = Known{record, now};
  } else if (rival_->record != record) {
    return error(ErrorCode::kInUse,
                 fmt::format("another crawler of this crawl runs as the member {}; give each its "
                             "own cluster.member",
                             options_.self));
  }
  return {};
}

void MemberTable::miss() {
  rival_.reset();
  has_missed_ = true;
}

std::optional<MemberTable::Beat> MemberTable::next_beat(std::uint64_t buckets, std::uint64_t idle,
                                                        BootTime now) {
  Beat beat;
  if (!has_name_ && rival_) {
    const bool has_ended =
        !options_.previous_session.empty() && rival_->record.session == options_.previous_session;
    if (!has_ended && now - rival_->since < options_.lease) return std::nullopt;
    beat.replaces = rival_->record;
  }
  own_ = {options_.session, own_.beat + 1, buckets, idle};
  beat.record = own_;
  return beat;
}

Result<void> MemberTable::beaten(bool written) {
  if (!written && has_name_) {
    return error(ErrorCode::kInUse,
                 fmt::format("another crawler has taken the member name {} while this one stood "
                             "still; give each its own cluster.member, and start this one again",
                             options_.self));
  }
  has_name_ = written;
  return {};
}

std::vector<std::string> MemberTable::living(BootTime now) const {
  std::vector<std::string> names = {options_.self};
  for (const auto& [name, known] : known_)
    if (is_fresh(known, now)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::uint64_t MemberTable::buckets_of(std::string_view name) const {
  if (name == options_.self) return own_.buckets;
  const auto found = known_.find(name);
  return found == known_.end() ? 0 : found->second.record.buckets;
}

bool MemberTable::has_moved(std::string_view name, BootTime now) const {
  const auto found = known_.find(name);
  return found != known_.end() && found->second.moved && is_fresh(found->second, now);
}

std::vector<MemberTable::Seen> MemberTable::gone(BootTime now) const {
  std::vector<Seen> gone;
  for (const auto& [name, known] : known_)
    if (now - known.since >= 10 * options_.lease) gone.push_back({name, known.record});
  return gone;
}

}  // namespace trawl
