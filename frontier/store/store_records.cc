#include "frontier/store/store_records.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/big_endian.h"
#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::uint64_t Counters::*kCounters[] = {&Counters::admitted,
                                                  &Counters::completed,
                                                  &Counters::failed,
                                                  &Counters::seen,
                                                  &Counters::invalid,
                                                  &Counters::skipped,
                                                  &Counters::dropped,
                                                  &Counters::retried,
                                                  &Counters::recrawls,
                                                  &Counters::deferred,
                                                  &Counters::sequence,
                                                  &Counters::deepest,
                                                  &Counters::depth_repairs,
                                                  &Counters::lowered,
                                                  &Counters::recrawls_deferred,
                                                  &Counters::succeeded,
                                                  &Counters::seeds_succeeded,
                                                  &Counters::held,
                                                  &Counters::set_aside_failed,
                                                  &Counters::requeued,
                                                  &Counters::not_set_aside,
                                                  &Counters::clock,
                                                  &Counters::readmitted,
                                                  &Counters::seen_only};
// A store of format 3 has only this many counters, the first ones.
constexpr std::size_t kCountersOfFormat3 = 15;
static_assert(sizeof(Counters) == sizeof(kCounters) / sizeof(kCounters[0]) * sizeof(std::uint64_t),
              "each counter is stored");

}  // namespace

NumberKey number_key(std::uint64_t number) {
  NumberKey key;
  store_big_endian(key.data(), number);
  return key;
}

DeferredKey deferred_key(std::int64_t not_before, std::uint64_t sequence) {
  DeferredKey key;
  store_big_endian(store_big_endian(key.data(), sortable(not_before)), sequence);
  return key;
}

FingerprintKey fingerprint_key(Fingerprint fingerprint) {
  FingerprintKey key;
  store_big_endian(store_big_endian(key.data(), fingerprint.high), fingerprint.low);
  return key;
}

std::optional<std::uint64_t> decode_number_key(std::string_view key) {
  if (key.size() != sizeof(NumberKey)) return std::nullopt;
  return load_big_endian<std::uint64_t>(key);
}

std::optional<Fingerprint> decode_fingerprint_key(std::string_view key) {
  if (key.size() != sizeof(FingerprintKey)) return std::nullopt;
  return Fingerprint{.high = load_big_endian<std::uint64_t>(key),
                     .low = load_big_endian<std::uint64_t>(key.substr(8))};
}

std::string decode_bytes(std::string_view bytes) {
  return std::string(bytes);
}

QueuedUrl decode_pending(HostId host, const QueueOrder& order, std::string_view record) {
  return {.host = host, .order = order, .record = std::string(record)};
}

void encode_deferred(std::string& out, HostId host, std::int32_t priority,
                     std::string_view record) {
  put_fixed(out, host);
  put_fixed(out, priority);
  out.append(record);
}

std::optional<DeferredUrl> decode_deferred(std::string_view key, std::string_view value) {
  if (key.size() != sizeof(DeferredKey)) return std::nullopt;
  Decoder in(value);
  DeferredUrl url;
  url.not_before = from_sortable(load_big_endian<std::uint64_t>(key));
  url.sequence = load_big_endian<std::uint64_t>(key.substr(8));
  url.host = in.fixed<HostId>();
  url.priority = in.fixed<std::int32_t>();
  if (!in.ok()) return std::nullopt;
  url.record = in.rest();
  return url;
}

// `high`, then `low`, little-endian: as they are in memory.
void encode_fingerprints(std::string& out, std::span<const Fingerprint> fingerprints) {
  static_assert(sizeof(Fingerprint) == 16 && offsetof(Fingerprint, low) == 8);
  out.append(reinterpret_cast<const char*>(fingerprints.data()), fingerprints.size_bytes());
}

bool decode_fingerprints(std::string_view value, std::vector<Fingerprint>& out) {
  if (value.size() % 16 != 0) return false;
  out.clear();
  out.reserve(value.size() / 16);
  for (Decoder in(value); !in.done();) {
    const auto high = in.fixed<std::uint64_t>();
    out.push_back({.high = high, .low = in.fixed<std::uint64_t>()});
  }
  return true;
}

void add_counters(Counters& sum, const Counters& part) {
  for (const auto counter : kCounters) {
    const bool is_greatest = counter == &Counters::deepest || counter == &Counters::clock;
    sum.*counter =
        is_greatest ? std::max(sum.*counter, part.*counter) : sum.*counter + part.*counter;
  }
}

std::string encode_counters(const Counters& counters) {
  std::string value;
  for (const auto count : kCounters)
    put_varint(value, counters.*count);
  return value;
}

std::optional<Counters> decode_counters(std::string_view value) {
  Decoder in(value);
  Counters counters;
  std::size_t n = 0;
  for (const auto count : kCounters) {
    if (n++ == kCountersOfFormat3 && in.done()) {
      // Format 3 did not count these: an approximation.
      const std::uint64_t others = counters.failed + counters.skipped;
      counters.succeeded = counters.completed - std::min(counters.completed, others);
      counters.seeds_succeeded = counters.succeeded > 0 ? 1 : 0;
      return counters;
    }
    if (n > kCountersOfFormat3 && in.done()) return counters;
    counters.*count = in.varint();
  }
  if (!in.done()) return std::nullopt;
  return counters;
}

std::array<char, 4> encode_depth(std::uint32_t depth) {
  std::array<char, 4> value;
  std::memcpy(value.data(), &depth, sizeof(depth));
  return value;
}

std::optional<std::uint32_t> decode_depth(std::string_view value) {
  Decoder in(value);
  const auto depth = in.fixed<std::uint32_t>();
  if (!in.done()) return std::nullopt;
  return depth;
}

}  // namespace trawl
