// Catalog: the file CATALOG, which names the filters of a directory and their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "crawler/resp/log_record.h"

namespace trawl::resp {

struct Catalog {
  struct Entry {
    std::uint64_t filter = 0;  // its number
    FilterPlan plan;
    std::vector<std::uint64_t> files;  // numbers of its files
    // As of the catalog's number of a change.
    std::uint64_t inserted = 0;
    std::uint64_t erased = 0;
    std::map<Fingerprint, std::uint64_t> crowded = {};  // CuckooChain::Crowded
  };
  std::uint64_t first_segment = 1;  // of the log
  std::uint64_t sequence = 0;       // the changes from this number on are not in the files
  std::uint64_t next_filter = 1;
  std::uint64_t next_file = 1;
  std::vector<Entry> entries;
};

// "filter-000012.ckpt"
std::filesystem::path catalog_filter_path(const std::filesystem::path& directory,
                                          std::uint64_t file);

std::string encode_catalog(const Catalog& catalog);
// Nothing if there is none yet. Errors: kCorrupt, kUnsupportedVersion, kIo.
Result<std::optional<Catalog>> read_catalog(const std::filesystem::path& directory);
// Replaces it, durably.
Result<void> write_catalog(const std::filesystem::path& directory, const Catalog& catalog);

}  // namespace trawl::resp
