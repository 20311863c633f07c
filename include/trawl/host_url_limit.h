// HostUrlLimit: how many URLs of a host the crawlers of a shared frontier admit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trawl/lease.h"
#include "trawl/set_aside.h"

namespace trawl {

// The user of a SharedFrontier implements it (SharedOptions::url_limit). A host has one owner at a
// time, whose count of the host is the only one: the owner's own links and those of other crawlers
// take places in it. For what it offers itself, the user takes places and reports the answers
// before and after the offer; the frontier does it for what other crawlers sent, and reports the
// hosts that come with buckets.
//
// Implementations must be thread-safe and quick, and must not call the frontier. `host`: as in
// Lease::host.
class HostUrlLimit {
 public:
  // What take() gave. Its members are the implementation's.
  struct Place {
    std::uint64_t host = 0;
    std::uint64_t url = 0;
    bool taken = false;
  };

  virtual ~HostUrlLimit() = default;

  // The host has come, and so many of its URLs were admitted: by all owners with a limit; at least
  // those in its queue. Called before anything else of it is admitted, perhaps twice, the greater
  // number counts; again if it was gone meanwhile.
  virtual void came(std::string_view host, std::uint64_t admitted) = 0;
  // A place for a URL that may be new; nothing if the host is full. Each place is settled.
  virtual std::optional<Place> take(std::string_view host, std::string_view url) = 0;
  // Settles a place with the frontier's answer; nothing: the URL was not offered. A URL keeps its
  // place if it is new.
  virtual void report(const Place& place, std::optional<Admission> admission) = 0;
  // Counts a URL that was offered without a place, since it may exceed the limit.
  virtual void note(std::string_view host, std::string_view url, Admission admission) = 0;
  // With which a URL that has no place is held.
  virtual HoldReason reason() const = 0;
};

}  // namespace trawl
