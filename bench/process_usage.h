// What this process has used so far: time, bytes written, memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace trawl::bench {

struct Usage {
  double wall = 0;            // seconds
  double cpu = 0;             // seconds of all threads, user and system
  std::uint64_t written = 0;  // bytes handed to write(2) and its kin
  std::uint64_t to_disk = 0;  // bytes that made, or will make, the kernel write to the disk

  static Usage now();
  Usage operator-(const Usage& before) const;
};

// Waits until the process has written nothing and used next to no CPU for half a second, or five
// minutes have passed. Returns the usage when it had its last work: what the wait itself took is
// not in it.
Usage wait_until_quiet();

// Bytes of memory resident now.
struct Resident {
  std::uint64_t own = 0;     // allocated: heap, stacks
  std::uint64_t mapped = 0;  // of the program, its libraries and other files
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
