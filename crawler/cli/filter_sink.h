// FilterSink: where `trawl filter build` puts fingerprints, be it in memory or on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "trawl/classic_bloom_filter.h"
#include "trawl/filter.h"

namespace trawl::cli {

struct FilterPlan {
  FilterKind kind = FilterKind::kBlocked;
  ClassicBloomFilter::Options options;  // of a size: for the classic kind alone
  std::string path;                     // of the file
  std::uint64_t max_memory = 0;         // 0: what the machine has, or most of it on disk
  std::uint64_t max_spool = 0;          // 0: the builder's default, or what is free
  // Called now and then while a filter that was put on disk is made into its file: the share done.
  std::function<void(double share)> on_writing;
  // Called now and then while keys wait for the spool to be swept: the share done.
  std::function<void(double share)> on_sweep;
};

struct BuiltFilter {
  FilterStats stats;
  // Keys that were not in when they came; nothing: not known.
  std::optional<std::uint64_t> fresh;
};

class FilterSink {
 public:
  // In memory, or by way of the disk if the filter is larger than plan.max_memory or, where that is
  // not given, three quarters of the machine's. Errors:
  // kInvalidArgument for impossible parameters, and for a kind that cannot be made on disk and is
  // larger; kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<FilterSink>> create(const FilterPlan& plan);
  virtual ~FilterSink() = default;

  virtual Result<void> add(std::span<const Fingerprint> keys) = 0;
  // How full the filter is, for a line of progress.
  virtual std::string progress() const = 0;
  // About how long finish() would take now.
  virtual double seconds_to_finish() const { return 0; }
  // Writes the file. To be called once, last.
  virtual Result<BuiltFilter> finish() = 0;
  virtual const KeyedHash& hash() const = 0;
  // Whether a SpoolGuard is there all the time.
  virtual bool is_guarded() const { return false; }
  // What went wrong without ending the work; empty if nothing did.
  virtual std::string warning() const { return {}; }
};

}  // namespace trawl::cli
