// FilterSink: where `trawl filter build` puts fingerprints, in memory or on disk.
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
  ClassicBloomFilter::Options options;  // those that set a size: classic only
  std::string path;                     // the filter's file
  std::uint64_t max_memory = 0;         // 0: default_build_memory()
  std::uint64_t max_spool = 0;          // 0: the builder's default, or the free space
  // Called from time to time while a filter built on disk is written to its file: the share done.
  std::function<void(double share)> on_writing;
  // Called from time to time while the spool is swept: the share done.
  std::function<void(double share)> on_sweep;
};

struct BuiltFilter {
  FilterStats stats;
  // Keys that were new when they were added; absent: unknown.
  std::optional<std::uint64_t> fresh;
};

class FilterSink {
 public:
  // Builds in memory, or on disk if the filter is larger than plan.max_memory. Errors:
  // kInvalidArgument for impossible parameters, and for a filter that is larger but of a kind that
  // cannot be built on disk; kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<FilterSink>> create(const FilterPlan& plan);
  virtual ~FilterSink() = default;

  virtual Result<void> add(std::span<const Fingerprint> keys) = 0;
  // How full the filter is, for the progress line.
  virtual std::string progress() const = 0;
  // Estimated time of finish() if it were called now.
  virtual double seconds_to_finish() const { return 0; }
  // Writes the file. Called once, last.
  virtual Result<BuiltFilter> finish() = 0;
  virtual const KeyedHash& hash() const = 0;
  // Whether the sink has its own InterruptCleanup.
  virtual bool cleans_up_on_interrupt() const { return false; }
  // A problem that did not end the work; empty if there is none.
  virtual std::string warning() const { return {}; }
};

}  // namespace trawl::cli
