// The commands of `trawl filter`; each returns an exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trawl/filter.h"

namespace trawl::cli {

inline constexpr double kDefaultFilterRate = 1e-6;  // as in a crawl

// Sets the size of a classic filter instead of its rate.
struct FilterSizeOptions {
  std::optional<std::uint64_t> bits;
  std::optional<double> bits_per_key;
  std::optional<unsigned> hashes;
};

struct FilterBuildArguments {
  std::string output;
  std::vector<std::string> inputs;
  std::optional<std::uint64_t> capacity;
  std::optional<double> rate;
  std::optional<FilterKind> kind;
  std::optional<KeyedHash::Key> hash_key;
  FilterSizeOptions size;
  std::string like;  // a filter's file; excludes the five above
  std::optional<std::uint64_t> max_memory;
  std::optional<std::uint64_t> max_spool;
  bool exact = false;  // also write a file of the keys' fingerprints
  bool force = false;
  bool progress = false;
  bool quiet = false;
};
int run_filter_build(const FilterBuildArguments& arguments);

struct FilterSizeArguments {
  std::optional<std::uint64_t> capacity;
  std::optional<double> rate;
  FilterSizeOptions size;  // at most one of bits and bits_per_key
  std::optional<std::uint64_t> max_memory;
  bool json = false;
};
int run_filter_size(const FilterSizeArguments& arguments);

struct FilterCheckArguments {
  std::string filter;
  std::vector<std::string> inputs;
  bool invert = false;
  bool count = false;
  bool quiet = false;
  bool verify = false;
};
// Exit codes as grep's: 0 if a line was selected, 1 if none was, 2 on errors.
int run_filter_check(const FilterCheckArguments& arguments);

struct FilterInfoArguments {
  std::string filter;
  bool json = false;
  bool verify = false;
};
int run_filter_info(const FilterInfoArguments& arguments);

// Arguments of `add` and `erase`.
struct FilterChangeArguments {
  std::string filter;
  std::vector<std::string> inputs;
  bool erase = false;  // false: add
  bool quiet = false;
};
int run_filter_change(const FilterChangeArguments& arguments);

struct FilterMergeArguments {
  std::string output;
  std::vector<std::string> filters;
  bool force = false;
  bool quiet = false;
};
int run_filter_merge(const FilterMergeArguments& arguments);

}  // namespace trawl::cli
