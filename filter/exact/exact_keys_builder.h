// ExactKeysBuilder: builds the file of a filter's keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "base/one_thread.h"
#include "filter/exact/exact_keys.h"

namespace trawl {

// An external merge sort. Keys are sorted in memory; when it is full they are written to disk as a
// sorted run, and at the end all runs are merged. Runs are files without a name, which vanish with
// the process. Not thread-safe.
class ExactKeysBuilder {
 public:
  struct Options {
    std::string filter;  // path of the filter's file
    KeyedHash::Key hash_key = {};
    std::uint64_t max_memory_bytes = std::uint64_t{256} << 20;  // for keys; at least 64 KiB
  };
  explicit ExactKeysBuilder(const Options& options);

  // Errors: kNoSpace, kIo.
  Result<void> add(std::span<const Fingerprint> keys);
  // Adds the keys of another file, which must stay open until finish() has returned.
  void add_all_of(const ExactKeys& keys) { others_.push_back(keys.sorted()); }

  // Writes the keys, sorted and without duplicates, to a temporary file next to their final place.
  Result<void> finish();
  // The steps of publication, such that the filter has its keys at any moment: (1) announce() with
  // the new filter's file, whose header and directory it reads; (2) the caller renames that file to
  // its place; (3) take_place().
  Result<void> announce(const std::string& coming_filter);
  Result<void> take_place();
  // Both steps, if the filter's file is already in its place.
  Result<void> publish() {
    return announce(options_.filter).and_then([&] { return take_place(); });
  }
  // The number of keys; valid after finish().
  std::uint64_t keys() const noexcept { return header_.keys; }

 private:
  struct Run {
    OutputFile file;
    std::uint64_t keys;
  };
  struct Output {
    TemporaryFile name;
    OutputFile file;
  };
  Result<void> clear_way() const;
  void sort_buffer();
  Result<void> write_run();
  Result<void> merge(OutputFile& out);

  Options options_;
  std::vector<Fingerprint> buffer_;
  std::vector<Run> runs_;
  std::vector<std::span<const Fingerprint>> others_;
  std::optional<Output> output_;  // from finish() on
  ExactHeader header_;
  OneAtATime using_;
};

}  // namespace trawl
