// QueuedUrl: an admitted URL as the store and the host queues hold it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

// The place of a URL in its host queue: higher priority first, then in order of admission.
struct QueueOrder {
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;  // of the admission; unique

  friend bool operator==(const QueueOrder&, const QueueOrder&) = default;
  friend std::strong_ordering operator<=>(const QueueOrder& a, const QueueOrder& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    return a.sequence <=> b.sequence;
  }
};

struct QueuedUrl {
  std::string host;
  QueueOrder order;
  std::string url;
  std::string parent;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
};

// Keys of the column family `pending` sort as the queues do: host, 0 byte, order. Host names hold
// no 0 byte.
std::string pending_key(std::string_view host, const QueueOrder& order);
// The first key of the host's queue, and the first behind it.
std::string pending_begin(std::string_view host);
std::string pending_end(std::string_view host);

std::string encode_pending_value(const QueuedUrl& url);
// Nothing if the bytes are no such record.
std::optional<QueuedUrl> decode_pending(std::string_view key, std::string_view value);

}  // namespace trawl
