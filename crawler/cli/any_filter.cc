#include "crawler/cli/any_filter.h"

#include <cassert>
#include <utility>

#include "base/file_io.h"
#include "filter/snapshot/snapshot_reader.h"

namespace trawl::cli {

namespace {

// Converts the Result of one kind into a Result of the class that holds any kind.
template <class Any, class Variant, class Filter>
Result<Any> wrap(Result<Filter> filter, Any (*make)(Variant)) {
  if (!filter) return tl::unexpected(std::move(filter.error()));
  return make(std::move(*filter));
}

}  // namespace

Result<SnapshotIndex> read_filter_index(const std::string& path) {
  const auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return read_snapshot_index(*file);
}

Result<void> verify_filter_file(const std::string& path) {
  const auto index = read_filter_index(path);
  if (!index) return tl::unexpected(index.error());
  const auto reader = SnapshotReader::open(path, index->header.kind);
  if (!reader) return tl::unexpected(reader.error());
  return reader->read_words([](std::size_t, std::uint64_t, std::span<const std::uint64_t>) {});
}

Result<AnyFilter> AnyFilter::create(FilterKind kind, const ClassicBloomFilter::Options& options) {
  const auto make = +[](Variant filter) { return AnyFilter(std::move(filter)); };
  const FilterOptions common{.capacity = options.capacity,
                             .false_positive_rate = options.false_positive_rate,
                             .hash = options.hash};
  switch (kind) {
    case FilterKind::kBlocked:
      return wrap(BlockedBloomFilter::create(common), make);
    case FilterKind::kGrowing:
      return wrap(GrowingBloomFilter::create({.capacity = options.capacity,
                                              .false_positive_rate = options.false_positive_rate,
                                              .hash = options.hash}),
                  make);
    case FilterKind::kClassic:
      return wrap(ClassicBloomFilter::create(options), make);
    case FilterKind::kCounting:
      return wrap(CountingBloomFilter::create(common), make);
    case FilterKind::kCuckoo:
      return wrap(CuckooFilter::create(common), make);
  }
  return error(ErrorCode::kInvalidArgument, "an unknown kind of filter");
}

Result<AnyFilter> AnyFilter::load(FilterKind kind, const std::string& path) {
  const auto make = +[](Variant filter) { return AnyFilter(std::move(filter)); };
  switch (kind) {
    case FilterKind::kBlocked:
      return wrap(BlockedBloomFilter::load(path), make);
    case FilterKind::kGrowing:
      return wrap(GrowingBloomFilter::load(path), make);
    case FilterKind::kClassic:
      return wrap(ClassicBloomFilter::load(path), make);
    case FilterKind::kCounting:
      return wrap(CountingBloomFilter::load(path), make);
    case FilterKind::kCuckoo:
      return wrap(CuckooFilter::load(path), make);
  }
  return error(ErrorCode::kInvalidArgument, "an unknown kind of filter");
}

bool AnyFilter::can_erase(FilterKind kind) noexcept {
  return kind == FilterKind::kCounting || kind == FilterKind::kCuckoo;
}

std::size_t AnyFilter::erase_batch(std::span<const Fingerprint> keys) noexcept {
  return std::visit(
      [&](auto& filter) -> std::size_t {
        std::size_t erased = 0;
        if constexpr (requires { filter.erase(Fingerprint{}); }) {
          for (const Fingerprint& key : keys)
            erased += filter.erase(key) ? 1 : 0;
        } else {
          assert(false && "this kind of filter cannot erase");
        }
        return erased;
      },
      filter_);
}

Result<std::size_t> AnyFilter::insert_batch(std::span<const Fingerprint> keys,
                                            std::span<bool> admitted) {
  return std::visit(
      [&](auto& filter) -> Result<std::size_t> { return filter.insert_batch(keys, admitted); },
      filter_);
}

Result<std::uint64_t> AnyFilter::save(const std::string& path) const {
  return std::visit([&](const auto& filter) { return filter.save(path); }, filter_);
}

FilterStats AnyFilter::stats() const {
  return std::visit([](const auto& filter) { return filter.stats(); }, filter_);
}

const KeyedHash& AnyFilter::hash() const {
  return std::visit([](const auto& filter) -> const KeyedHash& { return filter.hash(); }, filter_);
}

std::string AnyFilter::growth_error() const {
  const auto* growing = std::get_if<GrowingBloomFilter>(&filter_);
  return growing == nullptr ? std::string() : growing->growth_error();
}

}  // namespace trawl::cli
