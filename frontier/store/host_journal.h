// HostJournal: what was changed of a host's record and is not durable yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontier/store/host_record.h"

namespace trawl {

// Makes one record of another. It is made again later, so that it holds what it needs.
using RecordChange = std::function<void(HostRecord&)>;

// The record has a name, this one if it had none, as long as there is something to keep.
inline void change_record(HostRecord& record, std::string_view name, const RecordChange& change) {
  change(record);
  if (record.is_default()) {
    record.name.clear();
  } else if (record.name.empty()) {
    record.name = name;
  }
}

// Changes are made in memory at once, and stored with the operations that they belong to, which may
// be committed in another order: what is stored of a host is what those have made of it that are
// committed, one after the other as they were made in memory. So a crash takes back a change
// together with its operation.
class HostJournal {
 public:
  static constexpr std::uint64_t kEvery = std::numeric_limits<std::uint64_t>::max();

  explicit HostJournal(HostRecord stored) : stored_(std::move(stored)) {}

  void add(std::uint64_t number, std::string_view name, RecordChange change) {
    changes_.push_back({number, std::string(name), std::move(change)});
  }
  // The change of this number, or every one, is being committed.
  void commit(std::uint64_t number) {
    for (Change& change : changes_)
      change.committed |= change.number == number || number == kEvery;
    const auto open = std::ranges::find_if_not(changes_, &Change::committed);
    for (auto change = changes_.begin(); change != open; ++change)
      change_record(stored_, change->name, change->change);
    changes_.erase(changes_.begin(), open);
  }
  // True if all are.
  bool empty() const noexcept { return changes_.empty(); }
  // The record as the changes committed make it.
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
  std::vector<Change> changes_;  // as they were made; the first is not committed
};

}  // namespace trawl
