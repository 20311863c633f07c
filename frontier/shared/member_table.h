// MemberTable: the crawlers of a crawl, by their heartbeats.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "frontier/shared/boot_clock.h"

namespace trawl {

// What a member writes about itself, again and again.
struct MemberRecord {
  std::string session;     // of its process, hexadecimal
  std::uint64_t beat = 0;  // grows with each heartbeat
  std::uint64_t buckets = 0;
  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};
std::string encode_member(const MemberRecord& record);
std::optional<MemberRecord> decode_member(std::string_view value);

// Members whose heartbeat moved lately, by the caller's clock: no clock of another machine counts.
class MemberTable {
 public:
  MemberTable(std::string self, std::string session, std::chrono::milliseconds lifetime)
      : self_(std::move(self)), session_(std::move(session)), lifetime_(lifetime) {}

  struct Seen {
    std::string name;
    MemberRecord record;
  };
  // What was read of all members at `now`. Errors: kInUse if another living process has the name of
  // this member and more heartbeats.
  Result<void> see(const std::vector<Seen>& members, BootTime now);
  // The next heartbeat of this member.
  MemberRecord beat(std::uint64_t buckets) { return {session_, ++beats_, buckets}; }

  // The names of the living members, this one among them, sorted. One whose record was found, and
  // has not moved yet, counts for its lifetime: so buckets are not claimed too many at once.
  std::vector<std::string> living(BootTime now) const;
  // Whether a member was seen alive: its heartbeat moved, not long ago.
  bool has_moved(std::string_view name, BootTime now) const;

 private:
  struct Known {
    MemberRecord record;
    BootTime since;  // when it was first seen so
    bool moved = false;
  };
  bool is_fresh(const Known& known, BootTime now) const { return now - known.since < lifetime_; }

  std::string self_;
  std::string session_;
  std::chrono::milliseconds lifetime_;
  std::uint64_t beats_ = 0;
  std::map<std::string, Known, std::less<>> known_;  // not this one, except under another session
};

}  // namespace trawl
