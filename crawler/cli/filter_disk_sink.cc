#include "crawler/cli/filter_disk_sink.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "trawl/blocked_bloom_builder.h"
#include "trawl/sizing.h"

#include "base/free_memory.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/interrupt_cleanup.h"
#include "filter/blocked/builder_plan.h"
#include "filter/classic/classic_builder.h"

namespace trawl::cli {

namespace {

constexpr double kUsualDisk =
    300e6;  // bytes a second, assumed until the disk's own speed is measured

std::string progress_of(std::uint64_t added, std::uint64_t capacity, std::uint64_t spool_bytes) {
  return fmt::format("{:.1f} % of the capacity added, {} set aside",
                     100 * static_cast<double>(added) / static_cast<double>(capacity),
                     readable_bytes(spool_bytes));
}

class BlockedDiskSink : public FilterSink {
 public:
  BlockedDiskSink(std::unique_ptr<InterruptCleanup> guard, BlockedBloomBuilder builder,
                  std::uint64_t capacity)
      : guard_(std::move(guard)), builder_(std::move(builder)), capacity_(capacity) {}

  Result<void> add(std::span<const Fingerprint> keys) override {
    added_ += keys.size();
    auto added = builder_.add(keys);
    if (!added) guard_.reset();
    return added;
  }

  std::string progress() const override {
    return progress_of(added_, capacity_, builder_.work().spool_bytes);
  }

  double seconds_to_finish() const override {
    const auto work = builder_.work();
    const double speed = work.bytes_per_second > 0 ? work.bytes_per_second : kUsualDisk;
    return static_cast<double>(work.bytes_to_move) / speed;
  }

  Result<BuiltFilter> finish() override {
    const auto built = builder_.finish();
    guard_.reset();  // this spool is gone: a spool of that name would belong to another builder
    return built.map([](const FilterStats& stats) { return BuiltFilter{stats, stats.inserted}; });
  }

  const KeyedHash& hash() const override { return builder_.hash(); }
  bool cleans_up_on_interrupt() const override { return guard_ != nullptr; }

 private:
  std::unique_ptr<InterruptCleanup> guard_;  // destroyed after the builder
  BlockedBloomBuilder builder_;
  const std::uint64_t capacity_;
  std::uint64_t added_ = 0;
};

class ClassicDiskSink : public FilterSink {
 public:
  ClassicDiskSink(std::unique_ptr<InterruptCleanup> guard, ClassicBuilder builder,
                  const FilterPlan& plan, std::uint64_t filter_bytes)
      : guard_(std::move(guard)),
        builder_(std::move(builder)),
        capacity_(plan.options.capacity),
        parts_((filter_bytes + plan.max_memory - 1) / plan.max_memory),
        filter_bytes_(filter_bytes) {}

  Result<void> add(std::span<const Fingerprint> keys) override {
    added_ += keys.size();
    return builder_.add(keys);
  }

  std::string progress() const override {
    return progress_of(added_, capacity_, builder_.spool_bytes());
  }

  // Finishing reads the spool once for each part, and writes the filter.
  double seconds_to_finish() const override {
    return static_cast<double>(parts_ * builder_.spool_bytes() + filter_bytes_) / kUsualDisk;
  }

  Result<BuiltFilter> finish() override {
    const auto built = builder_.finish();
    guard_.reset();
    return built.map([](const FilterStats& stats) { return BuiltFilter{stats, std::nullopt}; });
  }

  const KeyedHash& hash() const override { return builder_.hash(); }
  bool cleans_up_on_interrupt() const override { return guard_ != nullptr; }

 private:
  std::unique_ptr<InterruptCleanup> guard_;
  ClassicBuilder builder_;
  const std::uint64_t capacity_;
  const std::uint64_t parts_;
  const std::uint64_t filter_bytes_;
  std::uint64_t added_ = 0;
};

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Free space for this user on the file system of `path`; a large number if unknown.
std::uint64_t free_disk(const std::string& path) {
  struct statvfs disk;
  if (::statvfs(path.c_str(), &disk) != 0) return ~std::uint64_t{0};
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

// The size limit of the spool; an error if the disk is too small.
Result<std::uint64_t> spool_within_disk(const FilterPlan& plan, const FilterSize& size,
                                        std::uint64_t wanted) {
  const std::string folder = folder_of(plan.path);
  const std::string spool = plan.path + ".spool";
  struct stat file_disk, spool_disk;
  // A classic filter's spool is always in the directory of its file.
  const bool elsewhere =
      plan.kind != FilterKind::kClassic && ::stat(folder.c_str(), &file_disk) == 0 &&
      ::stat(spool.c_str(), &spool_disk) == 0 && file_disk.st_dev != spool_disk.st_dev;
  // With less, the spool is swept so often that the build would never end.
  const std::uint64_t least =
      std::max<std::uint64_t>(std::uint64_t{1} << 20, std::min(wanted, size.memory_bytes() / 16));
  const std::uint64_t free = free_disk(folder);
  const std::uint64_t needed = size.file_bytes + (elsewhere ? 0 : least);
  if (free < needed) {
    return error(ErrorCode::kNoSpace,
                 fmt::format("cannot make {}: No space left on its disk: the filter needs {} of "
                             "memory, more than --max-memory or the machine allows; built on disk "
                             "it takes {}, including {} for the spool of keys, and {} are free",
                             plan.path, readable_bytes(size.memory_bytes()), readable_bytes(needed),
                             readable_bytes(needed - size.file_bytes), readable_bytes(free)));
  }
  const std::uint64_t for_spool = elsewhere ? free_disk(spool) : free - size.file_bytes;
  if (for_spool < least) {
    return error(ErrorCode::kNoSpace,
                 fmt::format("cannot make {}: No space left: it takes at least {}, and {} are free",
                             spool, readable_bytes(least), readable_bytes(for_spool)));
  }
  // Leaves a little for other programs.
  return std::clamp(for_spool - for_spool / 20, least, std::max(wanted, least));
}

Result<std::unique_ptr<FilterSink>> create_blocked(const FilterPlan& plan, std::uint64_t spool) {
  BlockedBloomBuilder::Options options;
  options.filter = {.capacity = plan.options.capacity,
                    .false_positive_rate = plan.options.false_positive_rate,
                    .hash = plan.options.hash};
  options.path = plan.path;
  options.max_memory_bytes = plan.max_memory;
  options.max_spool_bytes = spool;
  options.on_progress = [on_writing = plan.on_writing](std::uint64_t done, std::uint64_t all) {
    if (on_writing) on_writing(static_cast<double>(done) / static_cast<double>(all));
  };
  options.on_sweep = plan.on_sweep;
  auto guard = std::make_unique<InterruptCleanup>();
  auto builder = BlockedBloomBuilder::create(options);
  if (!builder) return tl::unexpected(builder.error());
  // Not earlier: until the builder is open, the spool may belong to another builder.
  guard->arm(plan.path + ".spool");
  return std::make_unique<BlockedDiskSink>(std::move(guard), std::move(*builder),
                                           plan.options.capacity);
}

Result<std::unique_ptr<FilterSink>> create_classic(const FilterPlan& plan, std::uint64_t spool,
                                                   std::uint64_t filter_bytes) {
  ClassicBuilder::Options options;
  options.filter = plan.options;
  options.path = plan.path;
  options.max_memory_bytes = plan.max_memory;
  options.max_spool_bytes = spool;
  options.on_sweep = plan.on_sweep;
  options.on_writing = plan.on_writing;
  auto guard = std::make_unique<InterruptCleanup>();
  auto builder = ClassicBuilder::create(options);
  if (!builder) return tl::unexpected(builder.error());
  guard->arm();
  return std::make_unique<ClassicDiskSink>(std::move(guard), std::move(*builder), plan,
                                           filter_bytes);
}

}  // namespace

std::uint64_t default_build_memory() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::max(std::min(machine / 4 * 3, free_memory() / 10 * 9), kMinBuilderMemory);
}

bool can_build_on_disk(FilterKind kind) {
  return kind == FilterKind::kBlocked || kind == FilterKind::kClassic;
}

Result<std::unique_ptr<FilterSink>> create_disk_sink(const FilterPlan& plan) {
  const auto size = filter_size(plan.kind, plan.options);
  if (!size) return tl::unexpected(size.error());
  const auto spool = spool_within_disk(
      plan, *size,
      plan.max_spool != 0 ? plan.max_spool : BlockedBloomBuilder::Options{}.max_spool_bytes);
  if (!spool) return tl::unexpected(spool.error());
  return plan.kind == FilterKind::kClassic ? create_classic(plan, *spool, size->memory_bytes())
                                           : create_blocked(plan, *spool);
}

}  // namespace trawl::cli
