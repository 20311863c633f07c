// URLs set aside: they wait in no queue, but a later run may want them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"

namespace trawl {

// Longer reasons are cut to so many bytes.
inline constexpr std::size_t kMaxReasonBytes = 256;

enum class SetAsideState : std::uint8_t {
  kHeld,    // a rule of the caller passed it over
  kFailed,  // it was asked for in vain, or could not be
};

// Why a URL is held. The view needs to live only as long as the call.
struct HoldReason {
  std::string_view reason;  // a word of the caller's; not empty
  // Stands for the rules that held it, so that a later run can see whether its own are others.
  // Stored, not interpreted.
  std::uint64_t rules = 0;
  // Kept even where StorageOptions::max_set_aside is reached: for URLs of which there are few.
  bool always = false;
};

// A URL set aside, as the store has it.
struct SetAsideUrl {
  SetAsideState state = SetAsideState::kHeld;
  std::string url;
  std::string host;  // as Lease::host
  std::string reason;
  std::uint64_t rules = 0;  // of a held one: HoldReason::rules
  int status = 0;           // of a failed one: Outcome::status
  // When it was set aside, by the wall clock.
  SystemTime since{};
  // False for a link that was held before it was admitted.
  bool was_queued = true;
  // As UrlRequest has them.
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::string parent;
  std::string note;
  std::string position = {};  // for the next call of Frontier::set_aside(): bytes of no meaning
};

// Which of the URLs set aside Frontier::retry() queues again: those that agree with every member
// that is set.
struct RetryWhich {
  std::optional<SetAsideState> state = std::nullopt;
  std::string key{};     // a URL, or the bytes of a UrlRequest::key; empty: any
  std::string host{};    // as Lease::host
  std::string reason{};  // exactly
  // HTTP status codes, both included; 0 to 0: any, and none. (404, 404) or (500, 599), say.
  int first_status = 0;
  int last_status = 0;
  // Asked last. Runs on the calling thread; must not call the frontier.
  std::function<bool(const SetAsideUrl&)> wanted{};

  bool matches(const SetAsideUrl& candidate) const;
};

}  // namespace trawl
