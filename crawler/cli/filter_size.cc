// trawl filter size Prints up to three tables with a row for every kind of filter: the size for a
// number of keys at a rate, the keys that fit into a size at a rate, and the rate for a number of
// keys in a size.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "trawl/sizing.h"

#include "base/file_io.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/say.h"

namespace trawl::cli {

namespace {

constexpr FilterKind kKinds[] = {FilterKind::kBlocked, FilterKind::kGrowing, FilterKind::kClassic,
                                 FilterKind::kCounting, FilterKind::kCuckoo};

using Options = ClassicBloomFilter::Options;

struct Row {
  FilterKind kind;
  Result<FilterSize> size;
};

struct Table {
  std::string title;
  std::vector<Row> rows;
};

// `size_of(kind)` for each kind.
template <class SizeOf>
Table table_of(std::string title, const SizeOf& size_of) {
  Table table{.title = std::move(title), .rows = {}};
  for (const FilterKind kind : kKinds)
    table.rows.push_back({kind, size_of(kind)});
  return table;
}

// Only a classic filter has a free choice of the number of hashes.
Options options_of(FilterKind kind, std::uint64_t capacity, double rate,
                   const FilterSizeOptions& size) {
  const bool classic = kind == FilterKind::kClassic;
  return {.capacity = capacity,
          .false_positive_rate = rate,
          .hashes = classic ? size.hashes.value_or(0) : 0};
}

Table keys_at_rate(std::uint64_t keys, double rate, const FilterSizeOptions& size) {
  return table_of(
      fmt::format("{} keys at a false-positive rate of {:.3g}", keys, rate),
      [&](FilterKind kind) { return filter_size(kind, options_of(kind, keys, rate, size)); });
}

// The best filter of each kind in `bits` bits. A classic filter has exactly that size if it was
// given as its size.
Table keys_in_bits(std::uint64_t keys, std::uint64_t bits, const FilterSizeOptions& size,
                   std::string title) {
  return table_of(std::move(title), [&](FilterKind kind) -> Result<FilterSize> {
    if (kind == FilterKind::kClassic && (size.bits || size.bits_per_key)) {
      return filter_size(kind, {.capacity = keys,
                                .bits = size.bits.value_or(0),
                                .bits_per_key = size.bits_per_key.value_or(0),
                                .hashes = size.hashes.value_or(0)});
    }
    return filter_rate(kind, keys, bits).and_then([&](double rate) {
      return filter_size(kind, options_of(kind, keys, rate, {}));
    });
  });
}

Table keys_that_fit(std::uint64_t bits, double rate, const FilterSizeOptions& size,
                    const std::string& where) {
  return table_of(
      fmt::format("the most keys in {}, at a false-positive rate of {:.3g}", where, rate),
      [&](FilterKind kind) -> Result<FilterSize> {
        if (kind == FilterKind::kClassic && size.bits) {
          const unsigned hashes = size.hashes.value_or(0);
          return filter_size(kind, {.capacity = classic_bloom_capacity(bits, hashes, rate),
                                    .bits = bits,
                                    .hashes = hashes});
        }
        return filter_capacity(kind, rate, bits).and_then([&](std::uint64_t keys) {
          return filter_size(kind, options_of(kind, keys, rate, {}));
        });
      });
}

// The tables for --capacity.
void add_sizes(std::vector<Table>& tables, const FilterSizeArguments& arguments, double rate) {
  const FilterSizeOptions& size = arguments.size;
  const std::uint64_t keys = *arguments.capacity;
  if (arguments.rate || (!size.bits && !size.bits_per_key))
    tables.push_back(keys_at_rate(keys, rate, size));
  if (size.bits_per_key) {
    const double bits = std::ceil(*size.bits_per_key * static_cast<double>(keys));
    tables.push_back(
        keys_in_bits(keys, static_cast<std::uint64_t>(bits), size,
                     fmt::format("{} keys in {:.4g} bits per key", keys, *size.bits_per_key)));
  }
  if (size.bits) {
    tables.push_back(
        keys_in_bits(keys, *size.bits, size, fmt::format("{} keys in {} bits", keys, *size.bits)));
  }
}

// The tables for --max-memory.
void add_what_fits(std::vector<Table>& tables, const FilterSizeArguments& arguments, double rate) {
  const FilterSizeOptions& size = arguments.size;
  const std::uint64_t bytes = *arguments.max_memory;
  const std::uint64_t bits = bytes * 8;
  const std::string room = fmt::format("{} ({} bytes)", readable_bytes(bytes), bytes);
  if (size.bits_per_key) {
    const double keys = std::floor(static_cast<double>(bits) / *size.bits_per_key);
    tables.push_back(keys_in_bits(
        static_cast<std::uint64_t>(std::max(1.0, keys)), bits, size,
        fmt::format("the most keys in {1}, with {0:.4g} bits per key", *size.bits_per_key, room)));
  } else {
    tables.push_back(keys_that_fit(bits, rate, {}, room));
  }
  if (arguments.capacity) {
    const std::uint64_t keys = *arguments.capacity;
    tables.push_back(keys_in_bits(
        keys, bits, {}, fmt::format("{} keys in {}, at the lowest rate that fits", keys, room)));
  }
}

std::vector<Table> tables_of(const FilterSizeArguments& arguments) {
  std::vector<Table> tables;
  const FilterSizeOptions& size = arguments.size;
  const double rate = arguments.rate.value_or(kDefaultFilterRate);
  if (arguments.capacity) add_sizes(tables, arguments, rate);
  if (size.bits)
    tables.push_back(keys_that_fit(*size.bits, rate, size, fmt::format("{} bits", *size.bits)));
  if (arguments.max_memory) add_what_fits(tables, arguments, rate);
  return tables;
}

// In millions, or in units of 2^20, with about four figures.
std::string millions(double bytes, double unit) {
  const double number = bytes / unit;
  const int decimals = number >= 100 ? 1 : number >= 1 ? 2 : number >= 0.01 ? 4 : 6;
  return fmt::format("{:.{}f}", number, decimals);
}

std::string as_text(std::span<const Table> tables) {
  constexpr double kMega = 1e6;
  constexpr double kMebi = 1048576;
  constexpr auto kFormat = "{:<9} {:>14} {:>16} {:>9} {:>3} {:>9} {:>11} {:>11} {:>11} {:>11}\n";
  std::string text;
  for (const Table& table : tables) {
    text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", table.title);
    text += fmt::format(kFormat, "kind", "keys", "bits", "bits/key", "k", "rate", "MB", "MiB",
                        "file, MB", "file, MiB");
    for (const auto& [kind, size] : table.rows) {
      if (!size) {
        text += fmt::format("{:<9} impossible: {}\n", name_of(kind), size.error().message);
        continue;
      }
      const auto memory = static_cast<double>(size->memory_bytes());
      const auto file = static_cast<double>(size->file_bytes);
      text += fmt::format(kFormat, name_of(kind), size->capacity, size->bits,
                          fmt::format("{:.2f}", size->bits_per_key), size->hashes,
                          fmt::format("{:.3g}", size->rate), millions(memory, kMega),
                          millions(memory, kMebi), millions(file, kMega), millions(file, kMebi));
    }
  }
  return text;
}

std::string as_json(std::span<const Table> tables) {
  auto list = nlohmann::ordered_json::array();
  for (const Table& table : tables) {
    auto filters = nlohmann::ordered_json::array();
    for (const auto& [kind, size] : table.rows) {
      nlohmann::ordered_json row{{"kind", name_of(kind)}};
      if (size) {
        row.update({{"capacity", size->capacity},
                    {"target_rate", size->target_rate},
                    {"bits", size->bits},
                    {"bits_per_key", size->bits_per_key},
                    {"hashes", size->hashes},
                    {"rate", size->rate},
                    {"memory_bytes", size->memory_bytes()},
                    {"file_bytes", size->file_bytes}});
      } else {
        row["error"] = size.error().message;
      }
      filters.push_back(std::move(row));
    }
    list.push_back({{"title", table.title}, {"filters", std::move(filters)}});
  }
  return nlohmann::ordered_json{{"tables", std::move(list)}}.dump(2) + "\n";
}

}  // namespace

int run_filter_size(const FilterSizeArguments& arguments) {
  const FilterSizeOptions& size = arguments.size;
  if (!arguments.capacity && !arguments.max_memory && !size.bits) {
    return usage_error(
        "give --capacity N for the size of a filter of N keys, --max-memory SIZE for the keys that "
        "fit into SIZE, or both");
  }
  if (size.bits && size.bits_per_key) {
    return usage_error("--bits and --bits-per-key both set the filter's size: give one of them");
  }
  const auto tables = tables_of(arguments);
  std::string reason;
  bool possible = false;
  for (const Table& table : tables) {
    for (const Row& row : table.rows) {
      possible = possible || row.size;
      if (!row.size && reason.empty()) reason = row.size.error().message;
    }
  }
  if (!possible) return usage_error(reason);
  const std::string text = arguments.json ? as_json(tables) : as_text(tables);
  if (const auto written = write_all(STDOUT_FILENO, text, "standard output"); !written)
    return report(written.error());
  return kDone;
}

}  // namespace trawl::cli
