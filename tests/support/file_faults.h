// FileFaults: a disk that dies, fills up or loses its power under the program.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace trawl::test {

// Stands between the program, its shared libraries included, and the files below one directory: a
// program that links file_faults.cc calls its write(), rename(), ... in place of the C library's.
// Counts the operations that change something and lets them fail on request. What is written
// through C streams (RocksDB's text log) passes by unseen. One at a time; thread-safe.
//
// Nothing is synced for real: the machine keeps its power, so that a test need not wait.
class FileFaults {
 public:
  // kPowerLoss notes what was synced and what was not, for lose_power().
  enum class Track { kCrashes, kPowerLoss };
  explicit FileFaults(const std::filesystem::path& directory, Track track = Track::kCrashes);
  ~FileFaults();
  FileFaults(const FileFaults&) = delete;
  FileFaults& operator=(const FileFaults&) = delete;

  // Operations so far.
  std::uint64_t operations() const;

  // The n-th operation from now on (1: the next) is done by half or not at all, and none after it:
  // all fail with EIO, and the files stay as a SIGKILL at that moment would have left them.
  void crash_at(std::uint64_t n, std::uint64_t seed);
  // The n-th operation from now on fails with `error` and changes nothing; alone, or with all that
  // follow. Counts those on files alone whose path contains `part`.
  void fail_once(std::uint64_t n, int error, const std::string& part = {});
  void fail_from(std::uint64_t n, int error, const std::string& part = {});
  // From now on each write and each sync takes so much longer.
  void slow_down(std::chrono::milliseconds by);
  // True if an operation failed; which, in words.
  bool struck() const;
  std::string struck_at() const;
  // Nothing fails from now on. True if something did before.
  bool heal();

  // What was not synced is lost, or a part of it, as `seed` has it. Of each file what was written
  // last, of each directory what was created, renamed or removed in it last. Nobody may have files
  // open. With Track::kPowerLoss.
  void lose_power(std::uint64_t seed);
};

}  // namespace trawl::test
