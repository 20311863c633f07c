// trawl filter info
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "trawl/mapped_filter.h"
#include "trawl/sizing.h"

#include "base/file_io.h"
#include "crawler/cli/any_filter.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/filter_values.h"
#include "filter/exact/exact_keys.h"

namespace trawl::cli {

namespace {

struct FilterInfo {
  FilterKind kind;
  std::uint32_t version;
  FilterStats stats;
  KeyedHash::Key hash_key;
  std::uint64_t file_bytes;
  std::optional<ExactKeys> exact;
};

Result<FilterInfo> read_info(const std::string& path) {
  const auto index = read_filter_index(path);
  if (!index) return tl::unexpected(index.error());
  auto opened = open_filter_and_keys(path);
  if (!opened) return tl::unexpected(opened.error());
  const MappedFilter& filter = opened->filter;
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(path, error);
  if (error) return tl::unexpected<Error>(system_error(error.value(), "cannot read " + path));
  return FilterInfo{index->header.kind,  index->version, filter.stats(),
                    filter.hash().key(), file_bytes,     std::move(opened->keys)};
}

std::string as_json(const FilterInfo& info, bool verified) {
  const FilterStats& stats = info.stats;
  nlohmann::ordered_json json{
      {"kind", name_of(info.kind)},
      {"version", info.version},
      {"capacity", stats.capacity},
      {"target_rate", stats.target_rate},
      {"inserted", stats.inserted},
      {"overfull", stats.overfull()},
      {"layers", stats.layers},
      {"hashes", stats.hashes},
      {"fill", stats.fill},
      {"current_rate", stats.current_rate},
      {"expected_false_positives", stats.expected_false_positives},
      {"memory_bytes", stats.memory_bytes},
      {"file_bytes", info.file_bytes},
      {"hash_key", format_hash_key(info.hash_key)},
      {"exact", info.exact.has_value()},
  };
  if (info.exact) {
    json["exact_keys"] = info.exact->size();
    json["exact_file_bytes"] = info.exact->file_bytes();
  }
  if (info.kind == FilterKind::kGrowing) {
    const auto better = better_capacity(stats);
    json["better_capacity"] = better ? nlohmann::ordered_json(*better) : nlohmann::ordered_json();
  }
  if (verified) json["verified"] = true;
  return json.dump(2) + "\n";
}

std::string as_text(const FilterInfo& info, bool verified) {
  const FilterStats& stats = info.stats;
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{:<16}{}\n", name, value);
  };
  const auto bytes = [](std::uint64_t n) {
    return fmt::format("{} ({} bytes)", readable_bytes(n), n);
  };
  line("kind", std::string(name_of(info.kind)));
  line("format version", std::to_string(info.version));
  line("capacity", fmt::format("{} keys", stats.capacity));
  line("target rate", fmt::format("{:.3g}", stats.target_rate));
  line("keys", std::to_string(stats.inserted));
  line("current rate", fmt::format("{:.3g}", stats.current_rate));
  line("fill", fmt::format("{:.2f} %", 100 * stats.fill));
  line("layers", std::to_string(stats.layers));
  line("hashes per key", std::to_string(stats.hashes));
  line("memory, loaded", bytes(stats.memory_bytes));
  line("file", bytes(info.file_bytes));
  line("hash key", format_hash_key(info.hash_key));
  if (info.exact) {
    line("exact keys", std::to_string(info.exact->size()));
    line("exact keys file", bytes(info.exact->file_bytes()));
  }
  if (verified) line("verified", "all chunks are intact");
  if (info.kind == FilterKind::kGrowing) {
    if (const auto advice = capacity_advice(stats, "--capacity"); !advice.empty())
      line("advice", advice);
  }
  return text;
}

}  // namespace

int run_filter_info(const FilterInfoArguments& arguments) {
  const auto info = read_info(arguments.filter);
  if (!info) return report(info.error());
  if (arguments.verify) {
    const auto intact = verify_filter_file(arguments.filter).and_then([&] {
      return info->exact ? info->exact->verify() : Result<void>{};
    });
    if (!intact) return report(intact.error());
  }
  const std::string text =
      arguments.json ? as_json(*info, arguments.verify) : as_text(*info, arguments.verify);
  if (const auto written = write_all(STDOUT_FILENO, text, "standard output"); !written)
    return report(written.error());
  warn_if_overfull(arguments.filter, info->stats);
  return kDone;
}

}  // namespace trawl::cli
