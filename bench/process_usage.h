// The resources used by this process: time, reads and writes, memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace trawl::bench {

struct Usage {
  double wall = 0;              // seconds
  double cpu = 0;               // seconds of all threads, user and system
  std::uint64_t reads = 0;      // calls of read(2) and similar ones
  std::uint64_t from_disk = 0;  // bytes that the kernel has read from the disk
  std::uint64_t written = 0;    // bytes passed to write(2) and similar calls
  std::uint64_t to_disk = 0;    // bytes that the kernel has written, or will write, to the disk

  static Usage now();
  Usage operator-(const Usage& before) const;
};

// Waits until the process has written nothing and used hardly any CPU for half a second, for at
// most five minutes. Returns the usage at the end of its work, without that of the wait itself.
Usage wait_until_quiet();

// Bytes of memory resident now.
struct Resident {
  std::uint64_t own = 0;     // allocated: heap, stacks
  std::uint64_t mapped = 0;  // the program, its libraries and other files
};
Resident resident_bytes();

// Bytes that a directory's files take on the disk.
struct DiskUsage {
  std::uint64_t tables = 0;  // RocksDB's .sst files
  std::uint64_t logs = 0;    // its write-ahead logs
  std::uint64_t other = 0;
  std::uint64_t all() const { return tables + logs + other; }
};
DiskUsage disk_usage(const std::filesystem::path& directory);

}  // namespace trawl::bench
