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

// Stands for a host (a politeness group, see politeness_group()) in keys and in memory: half of a
// keyed hash of its name, so that nobody can make two hosts share one, and so many bits that of a
// hundred million hosts two share one with a chance of 3 in 10,000. Those would share a queue.
using HostId = std::uint64_t;
inline HostId host_id(const KeyedHash& hash, std::string_view host) noexcept {
  return hash(host).high;
}

// The place of a URL in its host queue: higher priority first, then in the order in which the URLs
// were queued.
struct QueueOrder {
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;  // unique; a URL that is queued again gets a new one

  friend bool operator==(const QueueOrder&, const QueueOrder&) = default;
  friend std::strong_ordering operator<=>(const QueueOrder& a, const QueueOrder& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    return a.sequence <=> b.sequence;
  }
};

// What a caller gave a URL in place of what follows from it.
struct GivenIdentity {
  std::optional<Fingerprint> fingerprint = std::nullopt;  // of UrlRequest::key
  std::string queue = {};  // the name of its queue, where the URL does not tell it; empty: it does
  bool named = false;      // the queue is UrlRequest::queue

  friend bool operator==(const GivenIdentity&, const GivenIdentity&) = default;
};

// What is known of a URL that waits. The views are of the caller's, or of the record decoded.
struct UrlRecord {
  std::string_view url;     // Url::href_without_fragment(); with a key as it was given
  std::string parent = {};  // a string: records hold only what it does not share with the URL
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::string_view note = {};
  GivenIdentity given = {};
};
// The name of its host queue, or of the other one that it is in.
std::string queue_of(const UrlRecord& url);
std::string encode_record(const UrlRecord& url);
// Nothing if the bytes are no such record. `record` must outlive the answer.
std::optional<UrlRecord> decode_record(std::string_view record);
// Of one that decodes.
std::uint32_t depth_of_record(std::string_view record);
// Of a URL that comes back although its last fetch did not fail.
bool is_recrawl_record(std::string_view record);

// A URL in a host queue. `record` stays encoded until somebody leases it.
struct QueuedUrl {
  HostId host = 0;
  QueueOrder order;
  std::string record;
};

// The first URLs of a host queue, in its order.
struct QueueBeginning {
  std::vector<QueuedUrl> urls;
  bool whole = false;  // no others are in it
};

// A URL that waits for a time of its own, after which it is queued with `priority`.
struct DeferredUrl {
  std::int64_t not_before = 0;  // milliseconds since the epoch of std::chrono::system_clock
  std::uint64_t sequence = 0;   // unique, from the same count as QueueOrder::sequence
  HostId host = 0;
  std::int32_t priority = 0;
  std::string record;
};

// Keys of the column family `pending` sort as the queues do: host, order; all big-endian.
inline constexpr std::size_t kPendingKeyBytes = 8 + 4 + 8;
std::array<char, kPendingKeyBytes> pending_key_bytes(HostId host, const QueueOrder& order);
std::string pending_key(HostId host, const QueueOrder& order);
std::optional<std::pair<HostId, QueueOrder>> decode_pending_key(std::string_view key);

}  // namespace trawl
