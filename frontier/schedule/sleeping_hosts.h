// SleepingHosts: hosts of which a shard knows little more than that they have URLs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/mix.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// A set of hosts with a small number of URLs each, in 10 to 16 bytes a host.
// next() goes round: between two times that it returns a host, it has returned every other that was
// there meanwhile, except a few that move from the first slots of a table to its last ones, or
// when it changes its size.
//
// Of many small tables one at a time grows or shrinks, so that no call takes longer than a
// millisecond with 10^7 hosts. Not thread-safe.
//
// The hosts are of one shard of `shards`, which the highest bits of a host's number choose
// (scale_to()). Each table has a range of them, so that those that next() returns one after the
// other have their queues in one part of the store, which then is in the cache.
class SleepingHosts {
 public:
  explicit SleepingHosts(std::uint64_t shards = 1) : shards_(shards) {}

  // A host with more URLs than this cannot sleep.
  static constexpr std::uint64_t kMostUrls = 255;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t bytes() const noexcept;

  // The number of the host's URLs, at least 1; 0 if it is not in the set.
  std::uint64_t urls(HostId host) const { return tables_[number_of(host)].urls(host); }
  // Adds the host, or changes its number of URLs, 1 to kMostUrls.
  void set(HostId host, std::uint64_t urls);
  // Removes the host if it is in the set, and returns the number of its URLs.
  std::uint64_t remove(HostId host);
  // Removes the next host. The set must not be empty.
  struct Host {
    HostId id;
    std::uint64_t urls;
  };
  Host next() {
    return *next(1, [](HostId) { return true; });
  }
  // The same for the first that `wanted` accepts of the next `most`, which is at least 1; nothing
  // if it accepts none of them. They stay, and the next call goes on after them.
  template <class Wanted>
  std::optional<Host> next(std::size_t most, const Wanted& wanted) {
    while (const auto host = look_at_next()) {
      if (wanted(host->id)) return take(*host);
      if (--most == 0) break;
    }
    return std::nullopt;
  }

  // Calls `visit(HostId, urls)` for the hosts of table number `table`, below kTables.
  static constexpr std::size_t kTables = 256;
  template <class Visit>
  void visit(std::size_t table, Visit&& visit) const {
    tables_[table].visit(visit);
  }

 private:
  // Linear probing. A host's number of URLs is 0 in an empty slot.
  class Table {
   public:
    std::size_t bytes() const noexcept {
      return ids_.capacity() * sizeof(HostId) + urls_.capacity();
    }
    std::size_t slots() const noexcept { return ids_.size(); }
    std::uint64_t urls(HostId id) const { return ids_.empty() ? 0 : urls_[find(id)]; }
    // Returns whether the host is new.
    bool set(HostId id, std::uint8_t urls);
    std::uint8_t remove(HostId id);
    // The last host before a slot, which becomes its slot; nothing if there is none.
    std::optional<Host> last_before(std::size_t& slot) const;
    template <class Visit>
    void visit(Visit& visit) const {
      for (std::size_t slot = 0; slot < ids_.size(); ++slot) {
        if (urls_[slot] != 0) visit(ids_[slot], std::uint64_t{urls_[slot]});
      }
    }

   private:
    std::size_t home(HostId id) const { return scale_to(mix64(id), ids_.size()); }
    std::size_t after(std::size_t slot) const { return slot + 1 == ids_.size() ? 0 : slot + 1; }
    // The slot of the host, or the empty one where it belongs.
    std::size_t find(HostId id) const;
    void resize(std::size_t slots);

    std::vector<HostId> ids_;
    std::vector<std::uint8_t> urls_;
    std::size_t size_ = 0;
  };

  // The next host, which stays; nothing if there is none.
  std::optional<Host> look_at_next();
  // Removes the host that look_at_next() returned last.
  Host take(const Host& host);
  // The number times `shards` is evenly distributed.
  std::size_t number_of(HostId host) const { return scale_to(host * shards_, kTables); }

  std::uint64_t shards_;
  std::array<Table, kTables> tables_;
  std::size_t size_ = 0;
  std::size_t turn_ = 0;  // the table from which next() takes hosts, those before a slot
  std::size_t slot_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace trawl
