#include "frontier/store/queued_url.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "base/big_endian.h"
#include "base/coding.h"
#include "frontier/common/queue_names.h"

namespace trawl {

namespace {

// Flags: which optional parts a record has. The rest of the number is the depth.
constexpr std::uint64_t kRecrawl = 1;
constexpr std::uint64_t kRedirects = 2;
constexpr std::uint64_t kAttempts = 4;
constexpr std::uint64_t kParent = 8;
constexpr std::uint64_t kNote = 16;
constexpr unsigned kDepthShift = 5;
// In the bits above the depth.
constexpr std::uint64_t kKey = std::uint64_t{1} << 40;
constexpr std::uint64_t kQueue = std::uint64_t{1} << 41;
constexpr std::uint64_t kNamed = std::uint64_t{1} << 42;
constexpr std::uint64_t kParts =
    kKey | kQueue | kNamed | ((std::uint64_t{1} << (kDepthShift + 32)) - 1);

std::int32_t priority_of_rank(std::uint32_t rank) {
  return static_cast<std::int32_t>(std::int64_t{std::numeric_limits<std::int32_t>::max()} - rank);
}

// Decodes a count, which must be above 0: counts of 0 are not stored.
bool take_count(Decoder& in, std::uint32_t& out) {
  const std::uint64_t value = in.varint();
  if (!in.ok() || value == 0 || value > std::numeric_limits<std::uint32_t>::max()) return false;
  out = static_cast<std::uint32_t>(value);
  return true;
}

}  // namespace

std::uint32_t priority_rank(std::int32_t priority) {
  return static_cast<std::uint32_t>(std::int64_t{std::numeric_limits<std::int32_t>::max()} -
                                    priority);
}

std::array<char, kPendingKeyBytes> pending_key_bytes(HostId host, const QueueOrder& order) {
  std::array<char, kPendingKeyBytes> key;
  char* out = store_big_endian(key.data(), host);
  out = store_big_endian(out, priority_rank(order.priority));
  store_big_endian(out, order.sequence);
  return key;
}

std::string pending_key(HostId host, const QueueOrder& order) {
  const auto key = pending_key_bytes(host, order);
  return {key.data(), key.size()};
}

std::optional<std::pair<HostId, QueueOrder>> decode_pending_key(std::string_view key) {
  if (key.size() != kPendingKeyBytes) return std::nullopt;
  const auto [host, priority] = decode_pending_place(key);
  return std::pair(
      host, QueueOrder{.priority = priority,
                       .sequence = load_big_endian<std::uint64_t>(key.substr(kPendingPlaceBytes))});
}

std::pair<HostId, std::int32_t> decode_pending_place(std::string_view key) {
  assert(key.size() >= kPendingPlaceBytes);
  return {load_big_endian<std::uint64_t>(key),
          priority_of_rank(load_big_endian<std::uint32_t>(key.substr(8)))};
}

std::string encode_record(const UrlRecord& url) {
  std::string record;
  encode_record_into(record, url);
  return record;
}

void encode_record_into(std::string& record, const UrlRecord& url) {
  const auto& parent = url.parent;
  record.clear();
  record.reserve(url.url.size() + parent.size() + url.note.size() + url.given.queue.size() + 32);
  put_varint(record, std::uint64_t{url.depth} << kDepthShift | (url.recrawl ? kRecrawl : 0) |
                         (url.redirects != 0 ? kRedirects : 0) |
                         (url.attempts != 0 ? kAttempts : 0) | (parent.empty() ? 0 : kParent) |
                         (url.note.empty() ? 0 : kNote) | (url.given.fingerprint ? kKey : 0) |
                         (url.given.queue.empty() ? 0 : kQueue) | (url.given.named ? kNamed : 0));
  if (url.redirects != 0) put_varint(record, url.redirects);
  if (url.attempts != 0) put_varint(record, url.attempts);
  if (!url.note.empty()) put_string(record, url.note);
  if (url.given.fingerprint) {
    put_fixed(record, url.given.fingerprint->high);
    put_fixed(record, url.given.fingerprint->low);
  }
  if (!url.given.queue.empty()) put_string(record, url.given.queue);
  put_string(record, url.url);
  if (!parent.empty()) {
    const auto shared = std::ranges::mismatch(url.url, parent).in2 - parent.begin();
    put_varint(record, static_cast<std::uint64_t>(shared));
    record.append(parent, static_cast<std::size_t>(shared));
  }
}

std::optional<UrlRecord> decode_record(std::string_view record) {
  Decoder in(record);
  UrlRecord url;
  const std::uint64_t head = in.varint();
  if ((head & ~kParts) != 0) return std::nullopt;
  url.depth = static_cast<std::uint32_t>(head >> kDepthShift);
  url.recrawl = (head & kRecrawl) != 0;
  if ((head & kRedirects) != 0 && !take_count(in, url.redirects)) return std::nullopt;
  if ((head & kAttempts) != 0 && !take_count(in, url.attempts)) return std::nullopt;
  if ((head & kNote) != 0) url.note = in.string();
  if ((head & kKey) != 0) {
    const auto high = in.fixed<std::uint64_t>();
    url.given.fingerprint = Fingerprint{.high = high, .low = in.fixed<std::uint64_t>()};
  }
  if ((head & kQueue) != 0) url.given.queue = in.string();
  url.given.named = (head & kNamed) != 0;
  url.url = in.string();
  if ((head & kParent) == 0) return in.done() ? std::optional(std::move(url)) : std::nullopt;
  const std::uint64_t shared = in.varint();
  if (!in.ok() || shared > url.url.size()) return std::nullopt;
  url.parent.reserve(shared + in.rest().size());
  url.parent.append(url.url.substr(0, shared)).append(in.rest());
  return url;
}

std::uint32_t depth_of_record(std::string_view record) {
  return static_cast<std::uint32_t>(Decoder(record).varint() >> kDepthShift);
}

bool is_recrawl_record(std::string_view record) {
  Decoder in(record);
  const std::uint64_t head = in.varint();
  return in.ok() && (head & kRecrawl) != 0 && (head & kAttempts) == 0;
}

std::string queue_of(const UrlRecord& url) {
  return url.given.queue.empty() ? host_of(url.url) : url.given.queue;
}

}  // namespace trawl
