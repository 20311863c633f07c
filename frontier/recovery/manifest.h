// Manifest: what a state directory holds; the one file that says which checkpoints count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

struct CheckpointEntry {
  std::uint64_t number = 0;    // of its file
  std::uint64_t sequence = 0;  // admissions below it are in its bits
  std::uint64_t end = 0;       // its bits are of admissions below it
};

// Replaced as a whole, atomically, whenever it changes. docs/formats.md specifies the file.
struct Manifest {
  KeyedHash::Key hash_key{};
  bool ledger = false;                // whether the crawl keeps a ledger, from its first URL on
  std::string profile;                // name of the canonicalisation profile
  std::uint64_t log_start = 0;        // admissions from here on are in the admission log
  std::uint64_t next_checkpoint = 1;  // number the next checkpoint gets
  std::vector<CheckpointEntry> checkpoints;  // oldest first

  static std::filesystem::path path_in(const std::filesystem::path& directory);
  static std::filesystem::path checkpoint_path(const std::filesystem::path& directory,
                                               std::uint64_t number);
  // Whether the file begins as manifests do, whatever became of the rest.
  static bool is_at(const std::filesystem::path& file);
  // Nothing if the directory holds no manifest. Errors: kCorrupt, kUnsupportedVersion, kIo, ...
  static Result<std::optional<Manifest>> read(const std::filesystem::path& directory);
  Result<void> publish(const std::filesystem::path& directory) const;
  // The number of a checkpoint that is about to be written: used up, durably, before there is a
  // file of that name, so that none is given twice whatever becomes of the checkpoint.
  Result<std::uint64_t> take_checkpoint_number(const std::filesystem::path& directory);
};

}  // namespace trawl
