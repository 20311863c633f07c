// QueuedUrl: an admitted URL as the store and the host queues hold it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/fingerprint.h"

namespace trawl {

// Identifies a host (a politeness group, see politeness_group()) in keys and in memory: 64 bits of
// a keyed hash of its name. Nobody can construct two hosts with the same id. Of a hundred million
// hosts two have the same id with a probability of 3 in 10,000; they would share a queue.
using HostId = std::uint64_t;
// That of a frontier that is not shared: see UrlIdentity::host().
inline HostId host_id(const KeyedHash& hash, std::string_view host) noexcept {
  return hash(host).high;
}

// Maps priorities to numbers in the reverse order.
std::uint32_t priority_rank(std::int32_t priority);

// The place of a URL in its host queue: by priority, higher first, then in the order of queueing.
struct QueueOrder {
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;  // unique; a requeued URL gets a new one

  friend bool operator==(const QueueOrder&, const QueueOrder&) = default;
  friend std::strong_ordering operator<=>(const QueueOrder& a, const QueueOrder& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    return a.sequence <=> b.sequence;
  }
};

// The identity and queue that a caller gave a URL, in place of those derived from it.
struct GivenIdentity {
  std::optional<Fingerprint> fingerprint = std::nullopt;  // of UrlRequest::key
  std::string queue = {};  // the name of its queue if it cannot be derived from the URL; else empty
  bool named = false;      // the queue is UrlRequest::queue

  friend bool operator==(const GivenIdentity&, const GivenIdentity&) = default;
};

// The record of a waiting URL. The views point into the caller's memory, or into the encoded
// record.
struct UrlRecord {
  std::string_view url;     // Url::href_without_fragment(); unchanged if it has a key
  std::string parent = {};  // a string: records store only the part that differs from the URL
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::string_view note = {};
  GivenIdentity given = {};
};
// The name of the queue that the URL is in.
std::string queue_of(const UrlRecord& url);
std::string encode_record(const UrlRecord& url);
// The same into a string that is used again.
void encode_record_into(std::string& out, const UrlRecord& url);
// Returns nothing if the bytes are not a valid record. `record` must outlive the result.
std::optional<UrlRecord> decode_record(std::string_view record);
// Precondition: the record is valid.
std::uint32_t depth_of_record(std::string_view record);
// Whether the record is of a recrawl.
bool is_recrawl_record(std::string_view record);

// A URL in a host queue. `record` stays encoded until the URL is leased.
struct QueuedUrl {
  HostId host = 0;
  QueueOrder order;
  std::string record;
};

// The first URLs of a host queue, in order.
struct QueueBeginning {
  std::vector<QueuedUrl> urls;
  bool whole = false;  // the queue has no others
};

// A read of the part of a host queue behind `after`, or of its beginning: up to `limit` URLs, and
// none after the one with which the records reach `max_bytes`.
struct QueueRead {
  HostId host = 0;
  std::optional<QueueOrder> after = std::nullopt;
  std::size_t limit = 0;
  std::size_t max_bytes = ~std::size_t{0};
  // The result.
  std::vector<QueuedUrl> urls = {};
  bool ended = false;  // the queue had no others
  bool away = false;   // ShardReads::read_queues_at_once(): not read
};

// A URL that waits until a given time; then it is queued with `priority`.
struct DeferredUrl {
  std::int64_t not_before = 0;  // milliseconds since the epoch of std::chrono::system_clock
  std::uint64_t sequence = 0;   // unique, from the same count as QueueOrder::sequence
  HostId host = 0;
  std::int32_t priority = 0;
  std::string record;
};

// Keys of the column family `pending` sort as the queues do: host, order; all big-endian.
inline constexpr std::size_t kPendingKeyBytes = 8 + 4 + 8;
// Of these without the sequence, which is the end of the key.
inline constexpr std::size_t kPendingPlaceBytes = 8 + 4;
std::pair<HostId, std::int32_t> decode_pending_place(std::string_view key);
std::array<char, kPendingKeyBytes> pending_key_bytes(HostId host, const QueueOrder& order);
std::string pending_key(HostId host, const QueueOrder& order);
std::optional<std::pair<HostId, QueueOrder>> decode_pending_key(std::string_view key);

}  // namespace trawl
