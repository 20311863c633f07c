// trawl filter merge
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"

#include "base/file_io.h"
#include "crawler/cli/any_filter.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_pair.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/interrupt_cleanup.h"
#include "crawler/cli/say.h"
#include "filter/exact/exact_keys.h"
#include "filter/exact/exact_keys_builder.h"

namespace trawl::cli {

namespace {

// All differences that prevent a merge; empty if there are none.
std::string differences(const SnapshotHeader& a, const SnapshotHeader& b) {
  std::string text;
  const auto compare = [&text](std::string_view what, const auto& mine, const auto& theirs) {
    if (mine == theirs) return;
    text +=
        fmt::format("{}their {} differ ({} and {})", text.empty() ? "" : ", ", what, mine, theirs);
  };
  compare("kinds", name_of(a.kind), name_of(b.kind));
  compare("capacities", a.capacity, b.capacity);
  compare("false-positive rates", a.target_rate, b.target_rate);
  if (a.hash_key != b.hash_key)
    text += fmt::format("{}their hash keys differ", text.empty() ? "" : ", ");
  return text;
}

// Compares the files' headers before any filter is loaded. Returns their kind.
Result<FilterKind> check_alike(const std::vector<std::string>& paths) {
  std::vector<SnapshotHeader> headers;
  for (const auto& path : paths) {
    const auto index = read_filter_index(path);
    if (!index) return tl::unexpected(index.error());
    const FilterKind kind = index->header.kind;
    if (kind != FilterKind::kBlocked && kind != FilterKind::kClassic) {
      return error(
          ErrorCode::kInvalidArgument,
          fmt::format(
              "cannot merge {}, a {} filter: only blocked and classic filters can be merged", path,
              name_of(kind)));
    }
    headers.push_back(index->header);
    if (const auto differ = differences(headers.front(), headers.back()); !differ.empty()) {
      return error(
          ErrorCode::kInvalidArgument,
          fmt::format("cannot merge {} with {}: {}; build one of them with --like the other",
                      paths.front(), path, differ));
    }
  }
  return headers.front().kind;
}

struct Merged {
  FilterStats stats;
  std::uint64_t file_bytes;
};

// The exact keys of all filters; empty unless every filter has a keys file.
Result<std::vector<ExactKeys>> keys_of_all(const FilterMergeArguments& arguments) {
  std::vector<ExactKeys> all;
  std::string without;
  for (const auto& path : arguments.filters) {
    auto keys = ExactKeys::open_for(path);
    if (!keys) return tl::unexpected(keys.error());
    if (*keys) {
      // Damage must be found now: the merged keys get a new checksum.
      if (const auto intact = (*keys)->verify(); !intact) return tl::unexpected(intact.error());
      all.push_back(std::move(**keys));
    } else {
      without = path;
    }
  }
  if (without.empty() || all.empty()) return all;
  say(stderr, "trawl: warning: {} is written without exact keys, since {} has no keys file\n",
      arguments.output, without);
  return std::vector<ExactKeys>{};
}

Result<std::vector<InputFile>> open_all(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const auto& path : paths) {
    auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return files;
}

// `files` were opened before the keys.
template <class Filter>
Result<Merged> merge_into(const std::string& output, std::span<const InputFile> files,
                          std::span<const ExactKeys> keys) {
  auto sum = Filter::load(files.front().path());
  if (!sum) return tl::unexpected(sum.error());
  for (const InputFile& file : files.subspan(1)) {
    const auto other = Filter::load(file.path());
    if (!other) return tl::unexpected(other.error());
    if (auto merged = sum->merge(*other); !merged)
      return error(merged.error().code, file.path() + ": " + merged.error().message);
  }
  // A file replaced meanwhile may have lines that the keys lack.
  const auto changed = std::ranges::find_if_not(files, &InputFile::is_current);
  if (changed != files.end()) {
    return error(ErrorCode::kInUse,
                 changed->path() + " was changed during the merge: merge the filters again");
  }
  InterruptCleanup guard;  // an interrupted merge leaves no temporary file
  guard.arm();
  ExactKeysBuilder exact({output, sum->hash().key()});
  for (const ExactKeys& some : keys)
    exact.add_all_of(some);
  const auto save = [&](const std::string& to) { return sum->save(to); };
  const auto bytes =
      keys.empty() ? save(output)
                   : exact.finish().and_then([&] { return save_with_keys(output, save, exact); });
  if (!bytes) return tl::unexpected(bytes.error());
  return Merged{sum->stats(), *bytes};
}

}  // namespace

int run_filter_merge(const FilterMergeArguments& arguments) {
  const auto kind = check_alike(arguments.filters);
  if (!kind) return report(kind.error());
  if (const auto free = check_filter_output(arguments.output, arguments.force); !free)
    return report(free.error());
  const auto files = open_all(arguments.filters);
  if (!files) return report(files.error());
  const auto keys = keys_of_all(arguments);
  if (!keys) return report(keys.error());
  if (!keys->empty()) {
    if (const auto free = check_exact_output(arguments.output, arguments.force); !free)
      return report(free.error());
  }
  const auto merged = *kind == FilterKind::kBlocked
                          ? merge_into<BlockedBloomFilter>(arguments.output, *files, *keys)
                          : merge_into<ClassicBloomFilter>(arguments.output, *files, *keys);
  if (!merged) return report(merged.error());
  if (keys->empty()) {
    if (const auto removed = remove_stale_keys(arguments.output, arguments.quiet); !removed)
      return report(removed.error());
  }
  if (!arguments.quiet) {
    say(stderr, "{}: {} filters merged; about {}\n", arguments.output, arguments.filters.size(),
        filter_summary(merged->stats, merged->file_bytes));
  }
  warn_if_overfull(arguments.output, merged->stats);
  return kDone;
}

}  // namespace trawl::cli
