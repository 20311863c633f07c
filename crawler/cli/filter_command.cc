// The options of `trawl filter`.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/parsed_option.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

constexpr const char* kKindsText = R"(Kinds of filters:
  blocked   Bloom filter with all bits of a key in one cache line: the fastest; 10 bits per key at a
            rate of 1e-2, 22 at 1e-4, 39 at 1e-6. For a known number of keys
  growing   blocked filters of doubling size: keeps its rate for any number of keys, with 1.1 to 3
            times the memory and a look-up in each layer. For an unknown number of keys
  classic   textbook Bloom filter: 3 % smaller than blocked at 1e-2, 27 % at 1e-6, but up to a cache
            miss for each of its 7 to 20 bits per key. For the sizes in the literature
  counting  counters of 4 bits instead of bits: four times the memory of a classic filter. Keys can
            be erased
  cuckoo    tags of a few bits in buckets: smaller than a blocked filter at rates below about 0.5 %,
            than a classic one below about 0.4 % (always below 0.084 %). Keys can be erased. A full
            filter refuses keys)";

VerbHelp help_of_filter() {
  return {
      .text =
          R"(A filter stores a set of lines in a few bits each. For a line it answers "certainly not in the set"
or "probably in the set"; the second answer is wrong at the false-positive rate.)",
      .output = R"(Lines and reports go to standard output, messages to standard error.)",
      .examples = {{"trawl filter size --capacity 10M --fpr 1e-4", "print its size"},
                   {"trawl filter build -o seen.filter --capacity 10M --fpr 1e-4 urls.txt",
                    "build it"},
                   {"zcat *.gz | trawl filter build -o seen.filter", "number of keys unknown"},
                   {"trawl filter add seen.filter more.txt", "add lines"},
                   {"trawl filter check seen.filter new.txt > again.txt", "lines probably in it"},
                   {"trawl filter check seen.filter new.txt --invert > fresh.txt",
                    "lines certainly not in it"},
                   {"trawl filter check -q seen.filter line.txt && echo known", "for scripts"},
                   {"trawl filter build -o b.filter --like a.filter more.txt",
                    "can be merged with a"},
                   {"trawl filter merge -o both.filter a.filter b.filter", "merge two filters"},
                   {"zcat *.gz | trawl filter build -o big.filter --capacity 10G --fpr 1e-4",
                    "larger than memory"}},
      .exits = {{0, "done"}, {1, "failed"}, {2, "wrong usage"}, {3, "out of disk or memory"}}};
}

constexpr const char* kLines =
    R"(Each line is a key, without its line end (LF or CR LF). Empty lines are ignored.
Without INPUT, or if INPUT is -, lines are read from standard input.)";

VerbHelp help_of_build() {
  return {
      .text =
          R"(--capacity takes numbers such as 1000000, 1e6, 10M and 2.5G: K, M, G and T are powers of 1000. SIZE
is a size such as 512MiB.

A blocked or classic filter that is larger than --max-memory is built on disk. Keys that do not fit
into memory are kept in FILE.spool, with up to 12 bytes each; for a classic filter, all keys are,
with 16 bytes each. When FILE.spool reaches --max-spool, its keys are added to the filter, which
takes about a minute.

--exact writes the keys' fingerprints to FILE.keys, with 16 bytes each. check looks lines up there
that are probably in FILE.)",
      .output = R"(FILE, which appears complete or not at all; a report on standard error.)",
      .exits = {{0, "built"}, {1, "failed"}, {2, "wrong usage"}, {3, "out of disk or memory"}}};
}

VerbHelp help_of_size() {
  return {
      .text =
          R"(Prints the size and the rate of a filter of each kind for --capacity and one of --fpr,
--bits-per-key and --bits. With --max-memory it prints how many keys fit, and at what rate. `build`
with the same numbers makes filters of exactly these sizes.

  bits       total size in bits; MB is 10^6 bytes and MiB 2^20, in memory and as a file
  k          bits set per key; for a cuckoo filter, the buckets a key may be in
  rate       false-positive rate with all keys added; slightly off --fpr, since k is a whole number

For a growing filter, the size is that of the first layer, which holds --capacity keys. --bits,
--bits-per-key and --hashes apply to the classic filter; other kinds are shown at the lowest rate,
to three figures, at which they are not larger.)",
      .output = R"(A line for each kind of filter; with --json an object.)",
      .examples = {{"trawl filter size --capacity 10M --fpr 1e-4"},
                   {"trawl filter size --capacity 10M --bits-per-key 20 --hashes 14"},
                   {"trawl filter size --capacity 1M --bits 33554432 --hashes 6"},
                   {"trawl filter size --max-memory 1GiB --fpr 1e-3"}},
      .exits = {{0, "printed"}, {1, "failed"}, {2, "wrong usage"}}};
}

VerbHelp help_of_check() {
  return {.output = R"(The lines selected, on standard output.)",
          .exits = {{0, "at least one line was selected"},
                    {1, "none was"},
                    {2, "on errors and wrong usage"}},
          .exits_note = "as for grep"};
}

constexpr const char* kEraseText =
    R"(Erase only lines that were added. Erasing a line that was not added but tests positive (a false
positive) can erase other lines. Lines that are certainly not in the filter are counted and ignored.

)";

VerbHelp help_of_change() {
  return {
      .text =
          R"(The filter is loaded, changed and saved to a new file, which replaces the old one at the end. If the
command fails before that, the old file is unchanged. Commands that change the same filter wait for
each other.)",
      .output = R"(A report of what changed; the file is replaced at the end.)",
      .exits = {{0, "done"}, {1, "failed"}, {2, "wrong usage"}, {3, "out of disk or memory"}}};
}

VerbHelp help_of_merge() {
  return {
      .text =
          R"(Blocked and classic filters can be merged if kind, capacity, rate and hash key are equal: build
them with --like, or with the same --key. The result equals one filter of all their lines.)",
      .output = "FILE, which appears complete or not at all; a report on standard error.",
      .examples = {{"trawl filter build -o b.filter --like a.filter more.txt"},
                   {"trawl filter merge -o both.filter a.filter b.filter"}},
      .exits = {{0, "merged"}, {1, "failed"}, {2, "wrong usage"}, {3, "out of disk or memory"}}};
}

tl::expected<std::uint64_t, std::string> parse_max_memory(const std::string& text) {
  constexpr std::uint64_t kLeast = 1 << 20;
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is not a size such as 512MiB: " + size.error());
  if (*size < kLeast) return tl::unexpected(shown(text) + " is too small: at least 1MiB");
  return *size;
}

tl::expected<std::uint64_t, std::string> parse_room(std::string_view text) {
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is not a size such as 512MiB: " + size.error());
  constexpr std::uint64_t kMost = std::uint64_t{1} << 59;
  if (*size == 0 || *size > kMost)
    return tl::unexpected(shown(text) + " is not the size of a filter: from 1B to 512PiB");
  return *size;
}

void add_size_options(CLI::App* command, FilterSizeOptions& size) {
  add_parsed(command, "--bits", size.bits, parse_bits,
             "Size of a classic filter in bits, instead of a rate")
      ->type_name("M");
  add_parsed(command, "--bits-per-key", size.bits_per_key, parse_bits_per_key,
             "The same, per key of --capacity")
      ->type_name("B");
  add_parsed(command, "--hashes", size.hashes, parse_hashes,
             "Bits set per key in a classic filter (default: the best number)")
      ->type_name("K");
}

void add_size(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterSizeArguments>();
  auto* size = filter->add_subcommand("size", "Print how large a filter would be");
  add_parsed(size, "--capacity", arguments->capacity, parse_capacity, "Keys to size it for")
      ->type_name("N");
  add_parsed(size, "--fpr", arguments->rate, parse_rate,
             "False-positive rate at that capacity (default 1e-6)")
      ->type_name("P");
  add_size_options(size, arguments->size);
  add_parsed(size, "--max-memory", arguments->max_memory, parse_room,
             "Also print how many keys fit into this size, and at what rate")
      ->type_name("SIZE");
  size->add_flag("--json", arguments->json, "Print a JSON object");
  describe(size, help_of_size());
  size->callback([arguments, &exit_code] { exit_code = run_filter_size(*arguments); });
}

void add_build(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterBuildArguments>();
  auto* build = filter->add_subcommand("build", "Build a filter from lines");
  build->add_option("-o,--output", arguments->output, "The filter's file")
      ->type_name("FILE")
      ->required();
  build->add_option("INPUT", arguments->inputs, "Files of lines; - is standard input");
  add_parsed(build, "--capacity", arguments->capacity, parse_capacity,
             "Keys to size it for; for a growing filter, the first layer (default 1M)")
      ->type_name("N");
  add_parsed(build, "--fpr", arguments->rate, parse_rate,
             "False-positive rate at that capacity (default 1e-6)")
      ->type_name("P");
  add_parsed(
      build, "--kind", arguments->kind, parse_filter_kind,
      "blocked (default with --capacity), growing (default without), classic, counting or cuckoo")
      ->type_name("KIND");
  add_parsed(build, "--key", arguments->hash_key, parse_hash_key,
             "Hash key, 32 hexadecimal digits (default: a random one)")
      ->type_name("HEX");
  add_size_options(build, arguments->size);
  build
      ->add_option("--like", arguments->like,
                   "Use kind, capacity, rate and hash key of this filter")
      ->type_name("FILE");
  add_parsed(build, "--max-memory", arguments->max_memory, parse_max_memory,
             "Build on disk if the filter is larger (default: 3/4 of the machine's memory, at most "
             "9/10 of what is free)")
      ->type_name("SIZE");
  add_parsed(build, "--max-spool", arguments->max_spool, parse_max_memory,
             "Size limit of FILE.spool (default: 16GiB, or what is free)")
      ->type_name("SIZE");
  build->add_flag("--exact", arguments->exact,
                  "Also write FILE.keys, with which check has no false positives");
  build->add_flag("--force", arguments->force, "Replace FILE if it exists");
  build->add_flag("--progress", arguments->progress,
                  "Print progress even if standard error is not a terminal");
  build->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  VerbHelp help = help_of_build();
  help.text = fmt::format("{}\n\n{}\n\n{}", kKindsText, kLines, help.text);
  help.examples = {{"trawl filter build -o seen.filter --capacity 10M --fpr 1e-4 urls.txt"},
                   {"zcat *.gz | trawl filter build -o seen.filter", "number of keys unknown"}};
  describe(build, help);
  build->callback([arguments, &exit_code] { exit_code = run_filter_build(*arguments); });
}

void add_check(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterCheckArguments>();
  auto* check = filter->add_subcommand("check", "Print the lines that are (probably) in a filter");
  check->add_option("FILE", arguments->filter, "The filter's file")->required();
  check->add_option("INPUT", arguments->inputs, "Files of lines; - is standard input");
  check->add_flag("-v,--invert", arguments->invert,
                  "Select the lines that are certainly not in the filter");
  check->add_flag("-c,--count", arguments->count, "Print the number of lines selected instead");
  check->add_flag("-q,--quiet", arguments->quiet, "Print nothing; exit at the first selected line");
  check->add_flag("--verify", arguments->verify,
                  "Read the whole filter first and fail if it is damaged");
  VerbHelp help = help_of_check();
  help.text = kLines;
  help.examples = {{"trawl filter check seen.filter new.txt > again.txt", "lines probably in it"},
                   {"trawl filter check -q seen.filter line.txt && echo known", "for scripts"}};
  describe(check, help);
  check->callback([arguments, &exit_code] { exit_code = run_filter_check(*arguments); });
}

void add_info(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterInfoArguments>();
  auto* info = filter->add_subcommand("info", "Describe a filter's file");
  info->add_option("FILE", arguments->filter, "The filter's file")->required();
  info->add_flag("--json", arguments->json, "Print a JSON object");
  info->add_flag("--verify", arguments->verify, "Read the whole file and fail if it is damaged");
  describe(info, {.output = "Its kind, keys, size and rates; with --json an object.",
                  .examples = {{"trawl filter info seen.filter"},
                               {"trawl filter info seen.filter --verify"}},
                  .exits = {{0, "read"}, {1, "failed"}, {2, "wrong usage"}}});
  info->callback([arguments, &exit_code] { exit_code = run_filter_info(*arguments); });
}

void add_change(CLI::App* filter, int& exit_code, bool erase) {
  const auto arguments = std::make_shared<FilterChangeArguments>();
  arguments->erase = erase;
  auto* change =
      erase ? filter->add_subcommand("erase", "Erase lines from a counting or cuckoo filter")
            : filter->add_subcommand("add", "Add lines to a filter");
  change->add_option("FILE", arguments->filter, "The filter's file")->required();
  change->add_option("INPUT", arguments->inputs, "Files of lines; - is standard input");
  change->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  VerbHelp help = help_of_change();
  help.text = fmt::format("{}\n\n{}{}", kLines, erase ? kEraseText : "", help.text);
  help.examples = {
      {erase ? "trawl filter erase seen.filter old.txt" : "trawl filter add seen.filter more.txt"}};
  describe(change, help);
  change->callback([arguments, &exit_code] { exit_code = run_filter_change(*arguments); });
}

void add_merge(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterMergeArguments>();
  auto* merge = filter->add_subcommand("merge", "Merge filters into one");
  merge->add_option("-o,--output", arguments->output, "The file of the merged filter")
      ->type_name("FILE")
      ->required();
  merge->add_option("FILTER", arguments->filters, "Filters to merge, at least two")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  merge->add_flag("--force", arguments->force, "Replace FILE if it exists");
  merge->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  describe(merge, help_of_merge());
  merge->callback([arguments, &exit_code] { exit_code = run_filter_merge(*arguments); });
}

}  // namespace

void add_filter_commands(CLI::App& app, int& exit_code) {
  auto* filter = app.add_subcommand(
      "filter", "Size, build, change, query, inspect and merge filters of lines");
  filter->require_subcommand(1);
  VerbHelp help = help_of_filter();
  help.text = fmt::format("{}\n\n{}", kKindsText, help.text);
  describe(filter, help);
  add_size(filter, exit_code);
  add_build(filter, exit_code);
  add_change(filter, exit_code, false);
  add_change(filter, exit_code, true);
  add_check(filter, exit_code);
  add_info(filter, exit_code);
  add_merge(filter, exit_code);
}

}  // namespace trawl::cli
