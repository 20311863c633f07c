// MemberTable: the crawlers of a crawl, by their heartbeats.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "frontier/shared/boot_clock.h"

namespace trawl {

// What a member writes about itself, again and again.
struct MemberRecord {
  std::string session;     // of its process, hexadecimal
  std::uint64_t beat = 0;  // grows with each heartbeat
  std::uint64_t buckets = 0;
  // IdleMark of its buckets while it has nothing to lease and nothing to write; 0: it may have.
  std::uint64_t idle = 0;
  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};
std::string encode_member(const MemberRecord& record);
// How the records of a session begin, and no others.
std::string encode_member_session(std::string_view session);
std::optional<MemberRecord> decode_member(std::string_view value);

// Members whose heartbeat moved lately, by the caller's clock: no clock of another machine counts.
//
// A name belongs to one process at a time, by the rules of the leases on buckets: a process takes a
// name that nobody has, or whose record it has seen unchanged for the time of a lease, and goes on
// only while the record is still its own.
class MemberTable {
 public:
  struct Options {
    std::string self;     // the name of this member
    std::string session;  // of this process: unique
    std::chrono::milliseconds lease{10'000};
    // Of the process that had this name before, if it is known to have ended: its name is taken at
    // once. Empty: not known.
    std::string previous_session = {};
  };
  explicit MemberTable(Options options) : options_(std::move(options)) {}

  struct Seen {
    std::string name;
    MemberRecord record;
  };
  // What was read of all members at `now`. Errors: kInUse if another living process has the name of
  // this member.
  Result<void> see(const std::vector<Seen>& members, BootTime now);
  // They could not be read: what happened meanwhile is not known.
  void miss();

  // The next heartbeat of this member, to be written if its record is its own, is absent, or is
  // `replaces`. Nothing while the name belongs to another process.
  struct Beat {
    MemberRecord record;
    std::optional<MemberRecord> replaces;
  };
  std::optional<Beat> next_beat(std::uint64_t buckets, std::uint64_t idle, BootTime now);
  // Whether it was written, and is replicated. Errors: kInUse if another process has taken the name
  // while this one stood still.
  Result<void> beaten(bool written);
  bool has_name() const { return has_name_; }
  // As last written.
  const MemberRecord& own_record() const { return own_; }

  // The names of the living members, this one among them, sorted. One whose record was found, and
  // has not moved yet, counts for its lifetime: so buckets are not claimed too many at once.
  std::vector<std::string> living(BootTime now) const;
  // How many buckets a member had by its last record.
  std::uint64_t buckets_of(std::string_view name) const;
  // Whether a member was seen alive: its heartbeat moved, not long ago.
  bool has_moved(std::string_view name, BootTime now) const;
  // Those whose heartbeat has not moved for so long that nobody waits for them.
  std::vector<Seen> gone(BootTime now) const;

 private:
  struct Known {
    MemberRecord record;
    // When it was first seen so, later by the time for which the members could not be read.
    BootTime since;
    bool moved = false;
  };
  Result<void> see_rival(const MemberRecord& record, BootTime now);
  bool is_fresh(const Known& known, BootTime now) const {
    return now - known.since < options_.lease;
  }

  Options options_;
  MemberRecord own_;
  bool has_name_ = false;
  bool has_missed_ = false;
  std::optional<BootTime> looked_;                   // when they were last read
  std::optional<Known> rival_;                       // who has the name
  std::map<std::string, Known, std::less<>> known_;  // the others
};

}  // namespace trawl
