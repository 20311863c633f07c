// PendingHostChanges: the changes of a host's record that are not durable yet.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontier/store/host_record.h"

namespace trawl {

// A change of a record. It is applied more than once, so it must own the data that it uses.
using RecordChange = std::function<void(HostRecord&)>;

// Applies the change. A record that has something to store gets `name` if it has none.
inline void change_record(HostRecord& record, std::string_view name, const RecordChange& change) {
  change(record);
  if (record.is_default()) {
    record.name.clear();
  } else if (record.name.empty()) {
    record.name = name;
  }
}

// A change applies in memory immediately and is stored with its operation; operations may be
// committed in another order. So the stored record is the result of the committed changes alone,
// applied in the order in which they were made in memory. A crash then undoes a change together
// with its operation.
class PendingHostChanges {
 public:
  static constexpr std::uint64_t kEvery = std::numeric_limits<std::uint64_t>::max();

  explicit PendingHostChanges(HostRecord stored) : stored_(std::move(stored)) {}

  void add(std::uint64_t number, std::string_view name, RecordChange change) {
    assert(number != kEvery && (changes_.empty() || changes_.back().number < number));
    changes_.push_back({number, std::string(name), std::move(change)});
  }
  // Commits the change with this number, or all changes.
  void commit(std::uint64_t number) {
    for (Change& change : changes_)
      change.committed |= change.number == number || number == kEvery;
    const auto open = std::ranges::find_if_not(changes_, &Change::committed);
    for (auto change = changes_.begin(); change != open; ++change)
      change_record(stored_, change->name, change->change);
    changes_.erase(changes_.begin(), open);
  }
  // True if all changes are committed.
  bool empty() const noexcept { return changes_.empty(); }
  // The record after the committed changes.
  HostRecord record() const {
    HostRecord record = stored_;
    for (const Change& change : changes_)
      if (change.committed) change_record(record, change.name, change.change);
    return record;
  }

 private:
  struct Change {
    std::uint64_t number;
    std::string name;
    RecordChange change;
    bool committed = false;
  };
  HostRecord stored_;
  std::vector<Change> changes_;  // in order; the first is not committed
};

}  // namespace trawl
