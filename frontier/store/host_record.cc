#include "frontier/store/host_record.h"

#include <limits>

#include "base/coding.h"

namespace trawl {

namespace {

// Flags: which optional parts are present.
constexpr std::uint64_t kDelay = 1;
constexpr std::uint64_t kMaxLeases = 2;
constexpr std::uint64_t kRemaining = 4;
constexpr std::uint64_t kFailures = 8;
constexpr std::uint64_t kBlocked = 16;
constexpr std::uint64_t kGivenUp = 32;
constexpr std::uint64_t kAnswered = 64;
constexpr std::uint64_t kExactDelay = 128;
constexpr std::uint64_t kLimit = 256;
constexpr std::uint64_t kAllHostParts = 511;

std::optional<std::uint32_t> narrow(std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

}  // namespace

std::string encode_host(const HostRecord& host) {
  std::string value;
  put_varint(value, (host.delay ? kDelay : 0) | (host.max_leases ? kMaxLeases : 0) |
                        (host.remaining ? kRemaining : 0) | (host.failures != 0 ? kFailures : 0) |
                        (host.blocked_until != 0 ? kBlocked : 0) | (host.given_up ? kGivenUp : 0) |
                        (host.answered ? kAnswered : 0) | (host.exact_delay ? kExactDelay : 0) |
                        (host.limit ? kLimit : 0));
  put_string(value, host.name);
  if (host.delay) put_fixed(value, static_cast<std::int64_t>(host.delay->count()));
  if (host.max_leases) put_varint(value, *host.max_leases);
  if (host.remaining) put_varint(value, *host.remaining);
  if (host.failures != 0) put_varint(value, host.failures);
  if (host.blocked_until != 0) put_fixed(value, host.blocked_until);
  if (host.limit) put_varint(value, *host.limit);
  return value;
}

std::optional<HostRecord> decode_host(std::string_view value) {
  Decoder in(value);
  HostRecord host;
  const std::uint64_t parts = in.varint();
  if (parts > kAllHostParts) return std::nullopt;
  host.name = in.string();
  if ((parts & kDelay) != 0) host.delay = std::chrono::milliseconds(in.fixed<std::int64_t>());
  if ((parts & kMaxLeases) != 0) {
    host.max_leases = narrow(in.varint());
    if (!host.max_leases) return std::nullopt;
  }
  if ((parts & kRemaining) != 0) host.remaining = in.varint();
  if ((parts & kFailures) != 0) {
    const auto failures = narrow(in.varint());
    if (!failures) return std::nullopt;
    host.failures = *failures;
  }
  if ((parts & kBlocked) != 0) host.blocked_until = in.fixed<std::int64_t>();
  if ((parts & kLimit) != 0) host.limit = in.varint();
  host.given_up = (parts & kGivenUp) != 0;
  host.answered = (parts & kAnswered) != 0;
  host.exact_delay = (parts & kExactDelay) != 0;
  if (!in.done()) return std::nullopt;
  return host;
}

}  // namespace trawl
