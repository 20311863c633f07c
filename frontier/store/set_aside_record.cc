#include "frontier/store/set_aside_record.h"

#include "base/coding.h"
#include "base/wall_time.h"

namespace trawl {

namespace {

constexpr std::uint64_t kFailed = 1;
constexpr std::uint64_t kWasQueued = 2;
constexpr std::uint64_t kAllSetAsideParts = 3;

}  // namespace

bool RetryWhich::matches(const SetAsideUrl& candidate) const {
  if (state && candidate.state != *state) return false;
  if (!host.empty() && candidate.host != host) return false;
  if (!reason.empty() && candidate.reason != reason) return false;
  if ((first_status != 0 || last_status != 0) &&
      (candidate.status < first_status || candidate.status > last_status))
    return false;
  return !wanted || wanted(candidate);
}

std::string encode_set_aside(const SetAsideRecord& record) {
  std::string value;
  const std::string_view reason = record.reason.substr(0, kMaxReasonBytes);
  value.reserve(reason.size() + record.url_record.size() + 32);
  put_varint(value, (record.state == SetAsideState::kFailed ? kFailed : 0) |
                        (record.was_queued ? kWasQueued : 0));
  put_string(value, reason);
  put_fixed(value, record.rules);
  put_fixed(value, static_cast<std::int32_t>(record.status));
  put_fixed(value, record.since);
  put_fixed(value, record.priority);
  value.append(record.url_record);
  return value;
}

std::optional<SetAsideRecord> decode_set_aside(std::string_view value) {
  Decoder in(value);
  SetAsideRecord record;
  const std::uint64_t parts = in.varint();
  if (parts > kAllSetAsideParts) return std::nullopt;
  record.state = (parts & kFailed) != 0 ? SetAsideState::kFailed : SetAsideState::kHeld;
  record.was_queued = (parts & kWasQueued) != 0;
  record.reason = in.string();
  record.rules = in.fixed<std::uint64_t>();
  record.status = in.fixed<std::int32_t>();
  record.since = in.fixed<std::int64_t>();
  record.priority = in.fixed<std::int32_t>();
  if (!in.ok()) return std::nullopt;
  record.url_record = in.rest();
  return record;
}

std::optional<SetAsideUrl> set_aside_url(const SetAsideRecord& record) {
  auto url = decode_record(record.url_record);
  if (!url) return std::nullopt;
  return SetAsideUrl{.state = record.state,
                     .url = std::string(url->url),
                     .host = queue_of(*url),
                     .reason = std::string(record.reason),
                     .rules = record.rules,
                     .status = record.status,
                     .since = from_milliseconds(record.since),
                     .was_queued = record.was_queued,
                     .priority = record.priority,
                     .depth = url->depth,
                     .redirects = url->redirects,
                     .parent = std::move(url->parent),
                     .note = std::string(url->note)};
}

}  // namespace trawl
