#include "frontier/queued_url.h"

#include <limits>

#include "filter/coding.h"

namespace trawl {

namespace {

constexpr std::size_t kOrderBytes = 4 + 8;

template <class T>
void put_big_endian(std::string& out, T value) {
  for (int shift = 8 * (sizeof(T) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

template <class T>
T big_endian(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

// Maps priorities to numbers that sort the other way round.
std::uint32_t priority_rank(std::int32_t priority) {
  return static_cast<std::uint32_t>(std::int64_t{std::numeric_limits<std::int32_t>::max()} -
                                    priority);
}
std::int32_t priority_of_rank(std::uint32_t rank) {
  return static_cast<std::int32_t>(std::int64_t{std::numeric_limits<std::int32_t>::max()} - rank);
}

}  // namespace

std::string pending_begin(std::string_view host) {
  return std::string(host) + '\0';
}
std::string pending_end(std::string_view host) {
  return std::string(host) + '\1';
}

std::string pending_key(std::string_view host, const QueueOrder& order) {
  std::string key = pending_begin(host);
  put_big_endian(key, priority_rank(order.priority));
  put_big_endian(key, order.sequence);
  return key;
}

std::string encode_pending_value(const QueuedUrl& url) {
  std::string value;
  value.reserve(url.url.size() + url.parent.size() + 8);
  put_varint(value, url.depth);
  put_varint(value, url.redirects);
  put_string(value, url.url);
  put_string(value, url.parent);
  return value;
}

std::optional<QueuedUrl> decode_pending(std::string_view key, std::string_view value) {
  if (key.size() < kOrderBytes + 2 || key[key.size() - kOrderBytes - 1] != '\0')
    return std::nullopt;
  QueuedUrl url;
  url.host = key.substr(0, key.size() - kOrderBytes - 1);
  const std::string_view order = key.substr(key.size() - kOrderBytes);
  url.order = {.priority = priority_of_rank(big_endian<std::uint32_t>(order.substr(0, 4))),
               .sequence = big_endian<std::uint64_t>(order.substr(4))};
  Decoder in(value);
  url.depth = static_cast<std::uint32_t>(in.varint());
  url.redirects = static_cast<std::uint32_t>(in.varint());
  url.url = in.string();
  url.parent = in.string();
  if (!in.done()) return std::nullopt;
  return url;
}

}  // namespace trawl
