// SharedFrontier: one frontier for many crawlers, in Redis.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/frontier_options.h"
#include "trawl/result.h"
#include "trawl/shared_options.h"

namespace trawl {

// The crawlers of a shared frontier, as this one sees them, some seconds old.
struct ClusterStatus {
  // A crawler of the crawl.
  struct Member {
    std::string name;
    std::uint64_t buckets = 0;  // that it owned at its last heartbeat
    bool is_self = false;
  };
  std::vector<Member> members;  // those that live, this one among them
  std::uint64_t buckets = 0;    // of the crawl
  std::uint64_t owned = 0;      // by this crawler
  // What waits in the inboxes of this crawler's buckets: messages of other crawlers, and for how
  // long the oldest has waited while this crawler looked.
  std::uint64_t inbox = 0;
  std::chrono::milliseconds oldest_message{0};
  // By this process: links sent to other crawlers, messages taken from them, buckets that came and
  // went, batches written again after a failover of Redis, and URLs handed to the next owners of
  // buckets that were lost.
  std::uint64_t forwarded = 0;
  std::uint64_t messages_taken = 0;
  std::uint64_t gained = 0;
  std::uint64_t lost = 0;
  std::uint64_t rolled_back = 0;
  std::uint64_t passed_on = 0;
  std::uint64_t over_limit = 0;  // URLs of others that were held by SharedOptions::url_limit
  std::string waits_for;         // what of Redis this crawler waits for; empty: nothing
  FrontierCounters totals;       // of the whole crawl
};

// A limit that all crawlers of a crawl share.
enum class SharedLimit : std::uint8_t { kPages, kBytes };

// A Frontier that many processes share. The hosts are divided into buckets by their registrable
// domains, and each bucket has one owner at a time, which leases its URLs; links to other buckets
// are sent to their owners (Admission::kForwarded). A process that stops is replaced.
// docs/cluster.md says what is promised when.
//
// stats(), hosts(), set_aside() and lookup() are about the buckets that this process owns;
// progress() is about the whole crawl. set_host(), drop_host() and retry() reach the owners of the
// other buckets, which execute them soon; what is counted then is only this process's part.
class SharedFrontier : public Frontier {
 public:
  // Joins the crawl, or begins it; returns before this crawler owns anything. Errors, which say
  // what to do: kInvalidArgument (options, or a Redis that would lose the crawl), kUnavailable,
  // kPermission, kUnsupportedVersion, kProfileMismatch, kAlreadyExists (another crawl of this
  // name), kNotFound (the crawl that this directory belongs to is gone), kCorrupt, kInUse,
  // kNoSpace, kIo.
  [[nodiscard]] static Result<std::unique_ptr<SharedFrontier>> open(const SharedOptions& options,
                                                                    OpenReport* report = nullptr);

  // Whether the request of a `turn` with kNow may be sent, now that its connection is open: not if
  // its host was this crawler's and may be another one's by now, or was meanwhile, as this process
  // stood still. Release the lease then. Never waits.
  virtual bool may_send(const StartTurn& turn) const noexcept = 0;
  virtual Result<ClusterStatus> cluster_status() const = 0;
  // ClusterStatus::waits_for, without the rest. Never waits.
  virtual std::string waits_for() const = 0;
  // For a caller that wants to end: calls that wait for a Redis that is out of reach return
  // kUnavailable from now on, and the frontier stops. What is not written then is fetched again.
  virtual void stop_waiting() = 0;

  // A portion of what is left of `limit`, at least `need` if so much is left; 0: it is used up. The
  // portion is this process's; what it does not use it gives back. May wait for Redis. Errors:
  // kUnavailable, kNoSpace, kCorrupt, kPermission.
  [[nodiscard]] virtual Result<std::uint64_t> take(SharedLimit of, std::uint64_t limit,
                                                   std::uint64_t need = 1) = 0;
  virtual Result<void> give_back(SharedLimit of, std::uint64_t amount) = 0;
  // Taken by all processes together.
  [[nodiscard]] virtual Result<std::uint64_t> taken(SharedLimit of) = 0;
};

}  // namespace trawl
