// ExactKeysBuilder: makes the file of a filter's keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "filter/exact/exact_keys.h"

namespace trawl {

// Keys are sorted in memory; when it is full they go to the disk as a sorted run, and in the end
// all runs are merged. Runs are files without a name, which go with the process. One
// thread's.
class ExactKeysBuilder {
 public:
  struct Options {
    std::string filter;  // the path of its file
    KeyedHash::Key hash_key = {};
    std::uint64_t max_memory_bytes = std::uint64_t{256} << 20;  // of the keys; 64 KiB at least
  };
  explicit ExactKeysBuilder(const Options& options);

  // Errors: kNoSpace, kIo.
  Result<void> add(std::span<const Fingerprint> keys);
  // Those of another file, which lives until finish() has returned.
  void add_all_of(const ExactKeys& keys) { others_.push_back(keys.sorted()); }

  // Writes the keys, sorted and each once, under a name of their own beside the file that they are
  // to become.
  Result<void> finish();
  // Then, so that the filter has its keys at any moment: announce() with the file that is to become
  // the filter's, which reads its header and directory; that file takes its place; take_place().
  Result<void> announce(const std::string& coming_filter);
  Result<void> take_place();
  // Both, when the filter's file is in place already.
  Result<void> publish() {
    return announce(options_.filter).and_then([&] { return take_place(); });
  }
  // After finish().
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
  std::optional<Output> output_;
  ExactHeader header_;
};

}  // namespace trawl
