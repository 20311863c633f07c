// URLs set aside: they are in no queue, but are kept for a later run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"

namespace trawl {

// Longer reasons are cut to this length.
inline constexpr std::size_t kMaxReasonBytes = 256;

// Why a URL is set aside.
enum class SetAsideState : std::uint8_t {
  kHeld,    // a rule of the caller excluded it
  kFailed,  // its fetch failed, or could not start
};

// Why a URL is held. The view needs to live only as long as the call.
struct HoldReason {
  std::string_view reason;  // a word that the caller chooses; not empty
  // Identifies the rules that held it, so that a later run can see whether its own rules differ.
  // Stored, not interpreted.
  std::uint64_t rules = 0;
  // Keeps the URL even beyond StorageOptions::max_set_aside: for kinds of URLs that are few.
  bool always = false;
};

// A URL set aside, as stored.
struct SetAsideUrl {
  SetAsideState state = SetAsideState::kHeld;
  std::string url;
  std::string host;  // as Lease::host
  std::string reason;
  std::uint64_t rules = 0;  // of held URLs: HoldReason::rules
  int status = 0;           // of failed URLs: Outcome::status
  // When the URL was set aside, by the wall clock.
  SystemTime since{};
  // False for a link that was held before it was admitted.
  bool was_queued = true;
  // As in UrlRequest.
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::string parent;
  std::string note;
  std::string position = {};  // opaque; for the next call of Frontier::set_aside()
};

// Selects the URLs set aside that Frontier::retry() queues again: those that match every member
// that is set.
struct RetryWhich {
  std::optional<SetAsideState> state = std::nullopt;
  std::string key{};     // a URL, or the bytes of a UrlRequest::key; empty: any
  std::string host{};    // as Lease::host
  std::string reason{};  // exact match; empty: any
  // The range of HTTP status codes, both ends included, for example (404, 404) or (500, 599). (0,
  // 0): any status, or none.
  int first_status = 0;
  int last_status = 0;
  // Called last, on the calling thread; must not call the frontier.
  std::function<bool(const SetAsideUrl&)> wanted{};

  bool matches(const SetAsideUrl& candidate) const;
};

}  // namespace trawl
