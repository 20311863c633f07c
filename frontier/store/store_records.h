// The keys and values of the store's column families, except those with a header of their own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

#include "frontier/store/counters.h"
#include "frontier/store/queued_url.h"

namespace trawl {

inline constexpr std::string_view kCountersKey = "counters";
inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kSetAsideRulesKey = "set_aside_rules";

using NumberKey = std::array<char, 8>;  // admissions: the sequence; hosts: the HostId
using DeferredKey = std::array<char, 16>;
using FingerprintKey = std::array<char, 16>;

NumberKey number_key(std::uint64_t number);
DeferredKey deferred_key(std::int64_t not_before, std::uint64_t sequence);
FingerprintKey fingerprint_key(Fingerprint fingerprint);
// This and the following return nothing if the bytes are not valid.
std::optional<std::uint64_t> decode_number_key(std::string_view key);
std::optional<Fingerprint> decode_fingerprint_key(std::string_view key);

// Functions named decode_* read memory that RocksDB wrote. tests/tsan.supp lists them, since
// ThreadSanitizer does not see how RocksDB synchronises its threads.
std::string decode_bytes(std::string_view bytes);
QueuedUrl decode_pending(HostId host, const QueueOrder& order, std::string_view record);

void encode_deferred(std::string& out, HostId host, std::int32_t priority, std::string_view record);
std::optional<DeferredUrl> decode_deferred(std::string_view key, std::string_view value);

// 16 bytes each, in order.
void encode_fingerprints(std::string& out, std::span<const Fingerprint> fingerprints);
bool decode_fingerprints(std::string_view value, std::vector<Fingerprint>& out);

std::string encode_counters(const Counters& counters);
std::optional<Counters> decode_counters(std::string_view value);
// Adds the totals of another part of a frontier; of `deepest` and `clock` the greater one stays.
void add_counters(Counters& sum, const Counters& part);

std::array<char, 4> encode_depth(std::uint32_t depth);
std::optional<std::uint32_t> decode_depth(std::string_view value);

template <std::size_t n>
constexpr std::string_view view(const std::array<char, n>& bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace trawl
