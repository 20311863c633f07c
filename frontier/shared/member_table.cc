#include "frontier/shared/member_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/coding.h"

namespace trawl {

std::string encode_member(const MemberRecord& record) {
  std::string out;
  put_string(out, record.session);
  put_varint(out, record.beat);
  put_varint(out, record.buckets);
  return out;
}

std::optional<MemberRecord> decode_member(std::string_view value) {
  Decoder decoder(value);
  MemberRecord record;
  record.session = decoder.string();
  record.beat = decoder.varint();
  record.buckets = decoder.varint();
  // A newer version may append fields.
  if (!decoder.ok()) return std::nullopt;
  return record;
}

Result<void> MemberTable::see(const std::vector<Seen>& members, BootTime now) {
  for (const Seen& seen : members) {
    if (seen.name == self_ && seen.record.session == session_) continue;
    const auto [at, added] = known_.try_emplace(seen.name, Known{seen.record, now});
    Known& known = at->second;
    if (added || known.record == seen.record) continue;
    // A process that was started again under the same name goes on with the record.
    known = {.record = seen.record, .since = now, .moved = true};
    if (seen.name == self_ && seen.record.beat > beats_) {
      return error(ErrorCode::kInUse,
                   fmt::format("another crawler of this crawl runs as the member {}; give each its "
                               "own cluster.member",
                               self_));
    }
  }
  std::erase_if(known_, [&](const auto& one) {
    return std::ranges::none_of(members, [&](const Seen& s) { return s.name == one.first; });
  });
  return {};
}

std::vector<std::string> MemberTable::living(BootTime now) const {
  std::vector<std::string> names = {self_};
  for (const auto& [name, known] : known_)
    if (name != self_ && is_fresh(known, now)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

bool MemberTable::has_moved(std::string_view name, BootTime now) const {
  const auto found = known_.find(name);
  return found != known_.end() && found->second.moved && is_fresh(found->second, now);
}

}  // namespace trawl
