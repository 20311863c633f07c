// Operation: what one call of the frontier changes, as it waits to become durable.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trawl/lease.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

#include "frontier/store/host_journal.h"
#include "frontier/store/queued_url.h"

namespace trawl {

struct Operation {
  struct Admitted {
    Fingerprint fingerprint;
    HostId host = 0;
    std::int32_t priority = 0;
    std::uint32_t depth = 0;
    std::int64_t not_before = 0;  // wall clock, in ms; 0: it is queued at once
    std::string record;
    std::uint64_t sequence = 0;  // given when it is committed
  };
  // A URL that is held or failed.
  struct SetAside {
    Fingerprint fingerprint;
    SetAsideState state = SetAsideState::kHeld;
    bool was_queued = true;
    bool always = false;  // even if there is no room
    std::string value;    // encode_set_aside()
  };
  // A URL that was set aside, and is so no more if it still was when this is committed.
  struct Restored {
    Fingerprint fingerprint;
    HostId host = 0;
    std::int32_t priority = 0;
    std::string record;  // it is queued again with this; empty: it is not
  };
  // A lease whose URL leaves its place in the queue.
  struct Ended {
    enum class Kind : std::uint8_t { kDone, kRecrawl, kRetry, kHeld };
    Kind kind = Kind::kDone;
    HostId host = 0;
    QueueOrder order;
    Lease lease;
    GivenIdentity given;      // of the lease's URL
    Fingerprint fingerprint;  // of one of which something is kept by it, or is to be forgotten
    Outcome outcome;
    std::int64_t not_before = 0;        // of a recrawl or retry; wall clock, in ms
    std::string record;                 // the same
    std::optional<SetAside> set_aside;  // of one that is held, or failed
    bool keeps_by_fingerprint = false;  // something else is kept of the URL by it
    std::uint32_t fetches = 0;          // that ended, this one included
    std::uint32_t stored_depth = 0;     // that the URL was queued with
    bool depth_noted = false;           // the store has a note of a smaller depth
    bool depth_lowered = false;         // with which the URL was leased
  };
  // A host's queue being deleted, a part with each commit.
  struct Drop {
    HostId host = 0;
    std::uint64_t dropped = 0;
    std::optional<QueueOrder> behind = std::nullopt;  // where the next part of the queue begins
    bool deferred_done = false;
    bool done = false;
  };

  // A host whose record is another with this operation, by this change (HostJournal); 0: by none
  // but those that are durable already.
  struct ChangedHost {
    ChangedHost(HostId id, std::uint64_t number = HostJournal::kEvery) : host(id), change(number) {}
    HostId host;
    std::uint64_t change;
  };

  std::vector<Admitted> admitted;
  std::optional<Ended> ended;
  std::vector<SetAside> links_held;
  std::vector<Restored> restored;
  std::vector<ChangedHost> changed_hosts;  // whose records are to be stored
  // Of URLs that may wait with a greater one.
  std::vector<std::pair<Fingerprint, std::uint32_t>> lowered_depths;
  std::vector<Fingerprint> seen_to_check;  // told "seen": to be looked up in the ledger
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  bool promote = false;                               // deferred URLs that are due are to be queued
  std::shared_ptr<Drop> drop;                         // a host's queue to be deleted
  std::uint64_t bytes = 0;                            // of memory, about
  std::optional<std::promise<Result<void>>> durable;  // set if somebody waits
  bool stop = false;
  bool flush = false;            // it is to be committed though it changes nothing
  bool durable_already = false;  // it changes nothing, and neither does what it relied on any more

  bool changes_nothing() const noexcept {
    return admitted.empty() && !ended && links_held.empty() && restored.empty() &&
           changed_hosts.empty() && lowered_depths.empty() && seen_to_check.empty() && !promote &&
           !drop && !stop && !flush;
  }
  // Of memory, about.
  std::uint64_t size() const noexcept {
    std::uint64_t size = sizeof *this + bytes + lowered_depths.size() * sizeof lowered_depths[0] +
                         seen_to_check.size() * sizeof seen_to_check[0];
    if (ended) {
      size += ended->record.size() + ended->lease.url.size() + ended->lease.host.size() +
              ended->lease.parent.size() + ended->lease.note.size() + ended->outcome.error.size() +
              (ended->set_aside ? ended->set_aside->value.size() : 0);
    }
    return size;
  }

  void hold(SetAside link) {
    bytes += sizeof link + link.value.size();
    links_held.push_back(std::move(link));
  }
  void add(Admitted url) {
    bytes += sizeof url + url.record.size();
    admitted.push_back(std::move(url));
  }
};

using OperationGroup = std::vector<std::unique_ptr<Operation>>;

}  // namespace trawl
