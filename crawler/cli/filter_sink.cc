#include "crawler/cli/filter_sink.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "trawl/sizing.h"

#include "crawler/cli/any_filter.h"
#include "crawler/cli/filter_disk_sink.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/interrupt_cleanup.h"

namespace trawl::cli {

namespace {

class MemorySink : public FilterSink {
 public:
  MemorySink(AnyFilter filter, FilterPlan plan)
      : filter_(std::move(filter)), plan_(std::move(plan)) {}

  Result<void> add(std::span<const Fingerprint> keys) override {
    while (!keys.empty()) {
      const auto part = keys.first(std::min(keys.size(), admitted_.size()));
      keys = keys.subspan(part.size());
      const auto fresh = filter_.insert_batch(part, {admitted_.data(), part.size()});
      if (!fresh) return full_or(fresh.error());
      fresh_ += *fresh;
    }
    return {};
  }

  std::string progress() const override {
    return fmt::format("fill {:.1f} %", 100 * filter_.stats().fill);
  }

  Result<BuiltFilter> finish() override {
    InterruptCleanup guard;
    guard.arm();
    if (const auto saved = filter_.save(plan_.path); !saved) return tl::unexpected(saved.error());
    return BuiltFilter{filter_.stats(), fresh_};
  }

  const KeyedHash& hash() const override { return filter_.hash(); }
  std::string warning() const override { return filter_.growth_error(); }

 private:
  // A full filter must not exit with kOutOfSpace, which means a lack of memory or disk.
  Result<void> full_or(const Error& failure) const {
    if (failure.code != ErrorCode::kNoSpace) return tl::unexpected(failure);
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("the {} filter is full: it has {} keys and was planned for {}; nothing was "
                    "written: give a larger --capacity or another --kind",
                    name_of(plan_.kind), filter_.stats().inserted, plan_.options.capacity));
  }

  AnyFilter filter_;
  const FilterPlan plan_;
  std::array<bool, 4096> admitted_;
  std::uint64_t fresh_ = 0;
};

}  // namespace

Result<std::unique_ptr<FilterSink>> FilterSink::create(const FilterPlan& plan) {
  const bool limited = plan.max_memory > 0;
  if (can_build_on_disk(plan.kind)) {
    const auto size = filter_size(plan.kind, plan.options);
    if (!size) return tl::unexpected(size.error());
    FilterPlan within = plan;
    if (!limited) within.max_memory = default_build_memory();
    if (size->memory_bytes() > within.max_memory) return create_disk_sink(within);
  }
  auto filter = AnyFilter::create(plan.kind, plan.options);
  if (!filter) return tl::unexpected(filter.error());
  // Memory is allocated when first touched, so creating the filter to learn its size is cheap.
  if (const auto bytes = filter->stats().memory_bytes; limited && bytes > plan.max_memory) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a {} filter of this capacity and rate takes {} of memory, more than "
                    "--max-memory allows; only --kind blocked and classic can be built on disk",
                    name_of(plan.kind), readable_bytes(bytes)));
  }
  return std::make_unique<MemorySink>(std::move(*filter), plan);
}

}  // namespace trawl::cli
