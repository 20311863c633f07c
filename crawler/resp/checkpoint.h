// Checkpoint: files of the filters that changed, written while the server goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/resp/served_filter.h"

namespace trawl::resp {

// Made by the server's thread; write() runs on any.
class Checkpoint {
 public:
  struct Item {
    std::uint64_t filter = 0;
    std::vector<std::uint64_t> files;  // numbers of the files that are written
    ServedFilter::Body body;           // shared, or a copy of the moment of the begin
    // As of the begin: the files may have keys that were added since, and their counts.
    std::uint64_t inserted = 0;
    std::uint64_t erased = 0;
    CuckooChain::Crowded crowded = {};
  };
  Checkpoint(std::filesystem::path directory, std::uint64_t segment, std::uint64_t sequence)
      : directory_(std::move(directory)), segment_(segment), sequence_(sequence) {}

  void add(Item item) { items_.push_back(std::move(item)); }
  // Errors: kNoSpace, kIo. Files may be left: see remove().
  Result<void> write() const;
  // Removes the files that write() wrote.
  void remove() const;

  const std::vector<Item>& items() const noexcept { return items_; }
  // The log's segment and number of a record from which changes are not in the files.
  std::uint64_t segment() const noexcept { return segment_; }
  std::uint64_t sequence() const noexcept { return sequence_; }

 private:
  std::filesystem::path directory_;
  std::uint64_t segment_;
  std::uint64_t sequence_;
  std::vector<Item> items_;
};

}  // namespace trawl::resp
