#include "frontier/shared/owner_command.h"

#include "base/coding.h"
#include "base/wall_time.h"

namespace trawl {
namespace {

constexpr std::uint64_t kCommandFormat = 1;

enum SettingBit : std::uint64_t {
  kSetsDelay = 1 << 0,
  kSetsExact = 1 << 1,
  kIsExact = 1 << 2,
  kSetsLeases = 1 << 3,
  kSetsLimit = 1 << 4,
  kSetsAddress = 1 << 5,
  kSetsBlocked = 1 << 6,
  kAllSettingBits = (1 << 7) - 1,
};

// Values that have a meaning of their own keep it.
std::int64_t block_milliseconds(SystemTime until) {
  if (until == HostSettings::kParked) return INT64_MAX;
  if (until == HostSettings::kNotBlocked) return INT64_MIN;
  return not_before_milliseconds(until);
}
SystemTime block_end(std::int64_t milliseconds) {
  if (milliseconds == INT64_MAX) return HostSettings::kParked;
  if (milliseconds == INT64_MIN) return HostSettings::kNotBlocked;
  return from_milliseconds(milliseconds);
}

void put_settings(std::string& out, const HostSettings& settings) {
  std::uint64_t bits = 0;
  const auto set = [&](bool is, SettingBit bit) {
    if (is) bits |= bit;
  };
  set(settings.delay.has_value(), kSetsDelay);
  set(settings.exact_delay.has_value(), kSetsExact);
  set(settings.exact_delay.value_or(false), kIsExact);
  set(settings.leases.has_value(), kSetsLeases);
  set(settings.limit.has_value(), kSetsLimit);
  set(settings.address.has_value(), kSetsAddress);
  set(settings.blocked_until.has_value(), kSetsBlocked);
  put_varint(out, bits);
  if (settings.delay) put_fixed(out, std::int64_t{settings.delay->count()});
  if (settings.leases) put_fixed(out, *settings.leases);
  if (settings.limit) put_fixed(out, *settings.limit);
  if (settings.address) put_string(out, *settings.address);
  if (settings.blocked_until) put_fixed(out, block_milliseconds(*settings.blocked_until));
}

bool take_settings(Decoder& in, HostSettings& settings) {
  const std::uint64_t bits = in.varint();
  const auto has = [&](SettingBit bit) { return (bits & bit) != 0; };
  if (bits > kAllSettingBits || (has(kIsExact) && !has(kSetsExact))) return false;
  if (has(kSetsDelay)) settings.delay = std::chrono::milliseconds(in.fixed<std::int64_t>());
  if (has(kSetsExact)) settings.exact_delay = has(kIsExact);
  if (has(kSetsLeases)) settings.leases = in.fixed<std::uint32_t>();
  if (has(kSetsLimit)) settings.limit = in.fixed<std::uint64_t>();
  if (has(kSetsAddress)) settings.address = std::string(in.string());
  if (has(kSetsBlocked)) settings.blocked_until = block_end(in.fixed<std::int64_t>());
  return in.ok();
}

bool take_which(Decoder& in, RetryWhich& which) {
  const std::uint64_t state = in.varint();  // 1 + the state; 0: any
  if (state > 2) return false;
  if (state != 0) which.state = static_cast<SetAsideState>(state - 1);
  which.key = in.string();
  which.host = in.string();
  which.reason = in.string();
  which.first_status = in.fixed<std::int32_t>();
  which.last_status = in.fixed<std::int32_t>();
  return in.ok();
}

}  // namespace

std::string encode_owner_command(const OwnerCommand& command) {
  std::string out;
  put_varint(out, kCommandFormat);
  put_varint(out, static_cast<std::uint64_t>(command.kind));
  if (command.kind != OwnerCommand::Kind::kRetry) put_string(out, command.host);
  if (command.kind == OwnerCommand::Kind::kSetHost) put_settings(out, command.settings);
  if (command.kind == OwnerCommand::Kind::kRetry) {
    const RetryWhich& which = command.which;
    put_varint(out, which.state ? 1 + static_cast<std::uint64_t>(*which.state) : 0);
    put_string(out, which.key);
    put_string(out, which.host);
    put_string(out, which.reason);
    put_fixed(out, std::int32_t{which.first_status});
    put_fixed(out, std::int32_t{which.last_status});
  }
  return out;
}

std::optional<OwnerCommand> decode_owner_command(std::string_view body) {
  Decoder in(body);
  OwnerCommand command;
  if (in.varint() != kCommandFormat) return std::nullopt;
  const std::uint64_t kind = in.varint();
  if (kind < 1 || kind > 3) return std::nullopt;
  command.kind = static_cast<OwnerCommand::Kind>(kind);
  if (command.kind == OwnerCommand::Kind::kRetry) {
    if (!take_which(in, command.which)) return std::nullopt;
  } else {
    command.host = in.string();
    if (command.host.empty()) return std::nullopt;
  }
  if (command.kind == OwnerCommand::Kind::kSetHost && !take_settings(in, command.settings))
    return std::nullopt;
  if (!in.done()) return std::nullopt;
  return command;
}

}  // namespace trawl
