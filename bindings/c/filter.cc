// Filters of any kind, and their sizes.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/mapped_filter.h"
#include "trawl/sizing.h"

#include "bindings/c/call_guard.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_filter {
  std::variant<BlockedBloomFilter, GrowingBloomFilter, ClassicBloomFilter, CountingBloomFilter,
               CuckooFilter>
      filter;
};

namespace {

// Keys hashed at a time: enough to overlap cache misses, few enough for the stack.
constexpr std::size_t kBatch = 256;

tl::expected<FilterKind, Failure> kind_of(std::int32_t kind) {
  switch (kind) {
    case TRAWL_BLOCKED:
      return FilterKind::kBlocked;
    case TRAWL_GROWING:
      return FilterKind::kGrowing;
    case TRAWL_CLASSIC:
      return FilterKind::kClassic;
    case TRAWL_COUNTING:
      return FilterKind::kCounting;
    case TRAWL_CUCKOO:
      return FilterKind::kCuckoo;
    default:
      return invalid("an unknown kind of filter: use TRAWL_GROWING, TRAWL_BLOCKED, ...");
  }
}

const KeyedHash& hash_of(const trawl_filter& filter) {
  return std::visit([](const auto& one) -> const KeyedHash& { return one.hash(); }, filter.filter);
}

template <class Filter>
Checked keep(Result<Filter> made, trawl_filter** filter) {
  if (!made) return failure(std::move(made.error()));
  *filter = new trawl_filter{std::move(*made)};
  return {};
}

// Calls `handle(fingerprints, answers)`, which returns a Result of the number of ones, for batch
// after batch.
template <class Handle>
Checked in_batches(const KeyedHash& hash, const trawl_str* keys, std::size_t count,
                   std::uint8_t* answers, std::size_t* ones, Handle&& handle) {
  if (auto given = require_array(keys, count, "keys"); !given) return given;
  std::size_t all = 0;
  std::vector<Fingerprint> fingerprints(std::min(count, kBatch));
  bool found[kBatch];
  for (std::size_t begin = 0; begin < count; begin += kBatch) {
    const std::size_t size = std::min(kBatch, count - begin);
    for (std::size_t i = 0; i < size; ++i) {
      const auto key = view_of(keys[begin + i], "a key");
      if (!key) return tl::unexpected(key.error());
      fingerprints[i] = hash(*key);
    }
    const Result<std::size_t> handled =
        handle(std::span<const Fingerprint>(fingerprints.data(), size), std::span(found, size));
    if (!handled) return failure(handled.error());
    all += *handled;
    if (answers != nullptr) {
      for (std::size_t i = 0; i < size; ++i)
        answers[begin + i] = found[i] ? 1 : 0;
    }
  }
  if (ones != nullptr) *ones = all;
  return {};
}

}  // namespace

void trawl_filter_options_init(trawl_filter_options* options) {
  clear_struct(options);
  if (options == nullptr) return;
  const GrowingBloomFilter::Options defaults;
  options->kind = TRAWL_GROWING;
  options->capacity = defaults.capacity;
  options->false_positive_rate = defaults.false_positive_rate;
}

trawl_status trawl_filter_create(const trawl_filter_options* options, trawl_filter** filter,
                                 trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const auto given = read_struct(options, trawl_filter_options_init, "options");
    if (!given) return tl::unexpected(given.error());
    const auto kind = kind_of(given->kind);
    if (!kind) return tl::unexpected(kind.error());
    FilterOptions common{.capacity = given->capacity,
                         .false_positive_rate = given->false_positive_rate};
    if (given->hash_key != nullptr) {
      KeyedHash::Key key;
      std::copy_n(given->hash_key, key.size(), key.begin());
      common.hash = KeyedHash::from_key(key);
    }
    if (*kind != FilterKind::kClassic && (given->bits != 0 || given->hashes != 0))
      return invalid("options->bits and options->hashes are for TRAWL_CLASSIC alone");
    if (*kind != FilterKind::kGrowing && given->max_memory != 0)
      return invalid("options->max_memory is for TRAWL_GROWING alone");
    switch (*kind) {
      case FilterKind::kBlocked:
        return keep(BlockedBloomFilter::create(common), filter);
      case FilterKind::kGrowing:
        return keep(GrowingBloomFilter::create({.capacity = common.capacity,
                                                .false_positive_rate = common.false_positive_rate,
                                                .hash = common.hash,
                                                .max_memory_bytes = given->max_memory}),
                    filter);
      case FilterKind::kClassic:
        return keep(ClassicBloomFilter::create(ClassicBloomFilter::Options{
                        .capacity = common.capacity,
                        .false_positive_rate = common.false_positive_rate,
                        .hash = common.hash,
                        .bits = given->bits,
                        .hashes = given->hashes}),
                    filter);
      case FilterKind::kCounting:
        return keep(CountingBloomFilter::create(common), filter);
      case FilterKind::kCuckoo:
        return keep(CuckooFilter::create(common), filter);
    }
    return invalid("an unknown kind of filter");
  });
}

trawl_status trawl_filter_open(trawl_str path, uint64_t max_memory, trawl_filter** filter,
                               trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const auto name = path_of(path, "path");
    if (!name) return tl::unexpected(name.error());
    const std::string& file = *name;
    const auto mapped = MappedFilter::open(file);
    if (!mapped) return failure(mapped.error());
    switch (mapped->kind()) {
      case FilterKind::kBlocked:
        return keep(BlockedBloomFilter::load(file), filter);
      case FilterKind::kGrowing:
        return keep(GrowingBloomFilter::load(file, max_memory), filter);
      case FilterKind::kClassic:
        return keep(ClassicBloomFilter::load(file), filter);
      case FilterKind::kCounting:
        return keep(CountingBloomFilter::load(file), filter);
      case FilterKind::kCuckoo:
        return keep(CuckooFilter::load(file), filter);
    }
    return failure(TRAWL_UNSUPPORTED_VERSION, file + " is a filter of an unknown kind");
  });
}

trawl_status trawl_filter_save(const trawl_filter* filter, trawl_str path, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const auto file = path_of(path, "path");
    if (!file) return tl::unexpected(file.error());
    const auto saved = std::visit([&](const auto& one) { return one.save(*file); }, filter->filter);
    if (!saved) return failure(saved.error());
    return {};
  });
}

void trawl_filter_free(trawl_filter* filter) {
  delete filter;
}

trawl_status trawl_filter_add(trawl_filter* filter, trawl_str key, int32_t* is_new,
                              trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const auto bytes = view_of(key, "key");
    if (!bytes) return tl::unexpected(bytes.error());
    const Result<bool> added = std::visit(
        [&](auto& one) -> Result<bool> { return one.insert(one.hash()(*bytes)); }, filter->filter);
    if (!added) return failure(added.error());
    if (is_new != nullptr) *is_new = *added ? 1 : 0;
    return {};
  });
}

trawl_status trawl_filter_contains(const trawl_filter* filter, trawl_str key, int32_t* found,
                                   trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    if (auto given = require(found, "found"); !given) return given;
    const auto bytes = view_of(key, "key");
    if (!bytes) return tl::unexpected(bytes.error());
    *found = std::visit([&](const auto& one) { return one.contains(one.hash()(*bytes)); },
                        filter->filter)
                 ? 1
                 : 0;
    return {};
  });
}

trawl_status trawl_filter_remove(trawl_filter* filter, trawl_str key, int32_t* removed,
                                 trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const auto bytes = view_of(key, "key");
    if (!bytes) return tl::unexpected(bytes.error());
    return std::visit(
        [&](auto& one) -> Checked {
          if constexpr (requires { one.erase(Fingerprint{}); }) {
            const bool was_there = one.erase(one.hash()(*bytes));
            if (removed != nullptr) *removed = was_there ? 1 : 0;
            return {};
          } else {
            return invalid(
                "keys can be removed from filters of the kinds TRAWL_COUNTING and TRAWL_CUCKOO "
                "alone");
          }
        },
        filter->filter);
  });
}

trawl_status trawl_filter_add_batch(trawl_filter* filter, const trawl_str* keys, size_t count,
                                    uint8_t* answers, size_t* ones, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    return in_batches(
        hash_of(*filter), keys, count, answers, ones,
        [&](std::span<const Fingerprint> batch, std::span<bool> added) {
          return std::visit(
              [&](auto& one) -> Result<std::size_t> { return one.insert_batch(batch, added); },
              filter->filter);
        });
  });
}

trawl_status trawl_filter_contains_batch(const trawl_filter* filter, const trawl_str* keys,
                                         size_t count, uint8_t* answers, size_t* ones,
                                         trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    return in_batches(hash_of(*filter), keys, count, answers, ones,
                      [&](std::span<const Fingerprint> batch, std::span<bool> found) {
                        return std::visit(
                            [&](const auto& one) -> Result<std::size_t> {
                              return one.contains_batch(batch, found);
                            },
                            filter->filter);
                      });
  });
}

trawl_status trawl_filter_merge(trawl_filter* filter, const trawl_filter* other,
                                trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    if (auto given = require(other, "other"); !given) return given;
    if (filter == other) return {};
    return std::visit(
        [&](auto& one) -> Checked {
          using Filter = std::remove_reference_t<decltype(one)>;
          if constexpr (requires(const Filter& same) { one.merge(same); }) {
            const auto* const same = std::get_if<Filter>(&other->filter);
            if (same == nullptr) return invalid("the two filters are of different kinds");
            if (const auto merged = one.merge(*same); !merged) return failure(merged.error());
            return {};
          } else {
            return invalid("filters of the kinds TRAWL_BLOCKED and TRAWL_CLASSIC alone merge");
          }
        },
        filter->filter);
  });
}

void trawl_filter_stats_init(trawl_filter_stats* stats) {
  clear_struct(stats);
}

trawl_status trawl_filter_get_stats(const trawl_filter* filter, trawl_filter_stats* stats,
                                    trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(filter, "filter"); !given) return given;
    const FilterStats now = std::visit([](const auto& one) { return one.stats(); }, filter->filter);
    trawl_filter_stats out;
    trawl_filter_stats_init(&out);
    out.kind = static_cast<std::int32_t>(
        std::visit([](const auto& one) { return one.kKind; }, filter->filter));
    out.hashes = now.hashes;
    out.capacity = now.capacity;
    out.inserted = now.inserted;
    out.memory = now.memory_bytes;
    out.layers = now.layers;
    out.overfull = now.overfull() ? 1 : 0;
    out.target_rate = now.target_rate;
    out.current_rate = now.current_rate;
    out.fill = now.fill;
    out.expected_false_positives = now.expected_false_positives;
    return write_struct(stats, out, "stats");
  });
}

void trawl_filter_size_init(trawl_filter_size* size) {
  clear_struct(size);
}

trawl_status trawl_filter_size_for(int32_t kind, uint64_t keys, double rate,
                                   trawl_filter_size* size, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    const auto which = kind_of(kind);
    if (!which) return tl::unexpected(which.error());
    ClassicBloomFilter::Options options;
    options.capacity = keys;
    options.false_positive_rate = rate;
    const auto found = filter_size(*which, options);
    if (!found) return failure(found.error());
    trawl_filter_size out;
    trawl_filter_size_init(&out);
    out.bits = found->bits;
    out.hashes = found->hashes;
    out.bits_per_key = found->bits_per_key;
    out.rate = found->rate;
    out.file_bytes = found->file_bytes;
    return write_struct(size, out, "size");
  });
}

trawl_status trawl_filter_keys_for(int32_t kind, double rate, uint64_t bits, uint64_t* keys,
                                   trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(keys, "keys"); !given) return given;
    const auto which = kind_of(kind);
    if (!which) return tl::unexpected(which.error());
    const auto found = filter_capacity(*which, rate, bits);
    if (!found) return failure(found.error());
    *keys = *found;
    return {};
  });
}

trawl_status trawl_filter_rate_for(int32_t kind, uint64_t keys, uint64_t bits, double* rate,
                                   trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(rate, "rate"); !given) return given;
    const auto which = kind_of(kind);
    if (!which) return tl::unexpected(which.error());
    const auto found = filter_rate(*which, keys, bits);
    if (!found) return failure(found.error());
    *rate = *found;
    return {};
  });
}
