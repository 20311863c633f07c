// Manifest: the file of a state directory that holds the crawl's key and names its valid
// checkpoints.
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
  std::uint64_t number = 0;                // of the file
  std::uint64_t sequence = 0;              // admissions below it are in the bits
  std::uint64_t end = 0;                   // the bits are of admissions below it
  std::vector<std::uint64_t> layers = {};  // the numbers of the layer files that it refers to
};

// Every change replaces the file atomically. docs/formats.md specifies it.
struct Manifest {
  KeyedHash::Key hash_key{};
  bool ledger = false;                // whether the crawl keeps a ledger, since its first URL
  std::string profile;                // name of the canonicalisation profile
  std::uint64_t log_start = 0;        // admissions from here on are in the admission log
  std::uint64_t next_checkpoint = 1;  // the number of the next checkpoint or layer file
  // SeenOptions, fixed when the crawl was created. 0: unknown, of an older version.
  std::uint64_t expected_urls = 0;
  double false_positive_rate = 0;
  // Admissions replayed in a second by a usual machine, into a filter that is not in its cache.
  static constexpr double kUsualReplay = 3.5e6;
  // Measured by the openings that replayed enough, at most as usual.
  double replayed_per_second = kUsualReplay;
  std::vector<CheckpointEntry> checkpoints;  // oldest first

  static std::filesystem::path path_in(const std::filesystem::path& directory);
  static std::filesystem::path checkpoint_path(const std::filesystem::path& directory,
                                               std::uint64_t number);
  static std::filesystem::path layer_path(const std::filesystem::path& directory,
                                          std::uint64_t number);
  // Whether the file begins with a manifest's header, even if it is damaged later.
  static bool is_at(const std::filesystem::path& file);
  // Returns nothing if the directory holds no manifest. Errors: kCorrupt, kUnsupportedVersion, kIo,
  // ...
  static Result<std::optional<Manifest>> read(const std::filesystem::path& directory);
  Result<void> publish(const std::filesystem::path& directory) const;
  // Takes the number of a checkpoint or layer file that is about to be written. The number is used
  // up, durably, before a file of that name exists, so that it is never given twice even if the
  // checkpoint fails.
  Result<std::uint64_t> take_checkpoint_number(const std::filesystem::path& directory);
};

}  // namespace trawl
