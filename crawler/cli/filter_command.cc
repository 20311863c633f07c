// The options of `trawl filter`.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "crawler/cli/commands.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/parsed_option.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

constexpr const char* kKindsText = R"(Kinds of filters:
  blocked   a Bloom filter in cache lines: the fastest, 10 bits a key at a rate of 1e-2, 22 at 1e-4,
            39 at 1e-6. For a number of keys known beforehand; the only one larger than memory
  growing   blocked filters of doubling size: keeps its rate however many keys come, for 1.1 to 3
            times the memory and a look-up in each layer. For a number of keys nobody knows
  classic   the textbook's Bloom filter: 3 % smaller than blocked at 1e-2, 27 % at 1e-6, but a cache
            miss for each of its 7 to 20 bits a key. For the sizes that the literature has
  counting  counters of 4 bits instead of bits: four times a classic one's memory. For keys that are
            to be taken out again
  cuckoo    tags of a few bits in buckets: smaller than blocked filters from about 0.5 % down, than
            classic ones from about 0.4 % down (at every rate from 0.084 % down); keys can be taken
            out. Can be full, and then refuses keys)";

constexpr const char* kExamples = R"(
A filter remembers a set of lines in a few bits each. Asked for a line it says "certainly not in",
or "in, unless by the chance that is its rate of false positives".

Examples:
  trawl filter size --capacity 10M --fpr 1e-4                              how large would it be?
  trawl filter build -o seen.filter --capacity 10M --fpr 1e-4 urls.txt     make one
  zcat *.gz | trawl filter build -o seen.filter                            of unknown size
  trawl filter add seen.filter more.txt                                    more lines
  trawl filter check seen.filter new.txt > again.txt                       lines (probably) in it
  trawl filter check seen.filter new.txt --invert > fresh.txt              lines certainly not
  trawl filter check -q seen.filter line.txt && echo known                 for scripts
  trawl filter build -o b.filter --like a.filter more.txt                  to merge with it
  trawl filter merge -o both.filter a.filter b.filter                      one filter of two
  zcat *.gz | trawl filter build -o big.filter --capacity 10G --fpr 1e-4   larger than memory)";

constexpr const char* kLines =
    R"(Each line is a key: its bytes without the line end (LF or CR LF). Empty lines are left out.
Without INPUT, or where INPUT is -, lines come from standard input.)";

constexpr const char* kBuildFooter = R"(
--capacity takes 1000000, 1e6, 10M, 2.5G: K, M, G and T are powers of 1000. SIZE is like 512MiB.

FILE appears whole, at the end.
Exit status: 0 built, 1 failed, 2 wrong usage, 3 out of disk or memory.)";

constexpr const char* kSizeFooter = R"(
Says before anything is built what a filter of each kind takes: with --capacity, and --fpr or
--bits-per-key or --bits, its bits and the rate it has; with --max-memory also the reverse, how many
keys fit and at what rate. `build` with the same numbers makes these filters, to the bit.

  bits       all of them; MB is 10^6 bytes and MiB 2^20, in memory and as a file
  k          the bits of a key; of a cuckoo filter the buckets it may be in
  rate       of false positives with all keys in; a little off --fpr, since k is a whole number

Of a growing filter it is the first layer, which has all of --capacity's keys. --bits,
--bits-per-key and --hashes are options of the classic filter; the others are shown at the lowest
rate, to three figures, at which they take no more.

Examples:
  trawl filter size --capacity 10M --fpr 1e-4
  trawl filter size --capacity 10M --bits-per-key 20 --hashes 14
  trawl filter size --capacity 1M --bits 33554432 --hashes 6
  trawl filter size --max-memory 1GiB --fpr 1e-3

Exit status: 0 printed, 1 failed, 2 wrong usage.)";

constexpr const char* kCheckFooter = R"(
Exit status, as that of grep and unlike the other commands': 0 if at least one line was selected,
1 if none was, 2 on errors and wrong usage.)";

constexpr const char* kEraseFooter = R"(
Erase only lines that were added. A line that is merely taken for one (a false positive) takes
others with it; lines that are certainly not in the filter are counted and left out.)";

constexpr const char* kChangeFooter = R"(
The filter is loaded, changed and saved to a new file that replaces the old one at the end: whatever
happens before that leaves the old file as it was. Commands that change one filter at the same time
wait for each other.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 out of disk or memory.)";

constexpr const char* kMergeFooter =
    R"(Blocked and classic filters can be merged, if kind, capacity, rate and hash key are the same:
build them with --like, or with one --key. The result has the bits of one filter of all their lines.

Exit status: 0 merged, 1 failed, 2 wrong usage, 3 out of disk or memory.)";

tl::expected<std::uint64_t, std::string> parse_max_memory(const std::string& text) {
  constexpr std::uint64_t kLeast = 1 << 20;
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is no size like 512MiB: " + size.error());
  if (*size < kLeast) return tl::unexpected(shown(text) + " is too little: at least 1MiB");
  return *size;
}

tl::expected<std::uint64_t, std::string> parse_room(std::string_view text) {
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is no size like 512MiB: " + size.error());
  constexpr std::uint64_t kMost = std::uint64_t{1} << 59;
  if (*size == 0 || *size > kMost)
    return tl::unexpected(shown(text) + " is no filter's size: from 1B to 512PiB");
  return *size;
}

void add_size_options(CLI::App* command, FilterSizeOptions& size) {
  add_parsed(command, "--bits", size.bits, parse_bits,
             "Bits of a classic filter, instead of a rate")
      ->type_name("M");
  add_parsed(command, "--bits-per-key", size.bits_per_key, parse_bits_per_key,
             "The same for each key of --capacity")
      ->type_name("B");
  add_parsed(command, "--hashes", size.hashes, parse_hashes,
             "Bits that a key has in a classic filter (default: the best number)")
      ->type_name("K");
}

void add_size(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterSizeArguments>();
  auto* size = filter->add_subcommand("size", "Print how large a filter would be");
  add_parsed(size, "--capacity", arguments->capacity, parse_capacity, "Keys to size it for")
      ->type_name("N");
  add_parsed(size, "--fpr", arguments->rate, parse_rate,
             "Rate of false positives at that capacity (default 1e-6)")
      ->type_name("P");
  add_size_options(size, arguments->size);
  add_parsed(size, "--max-memory", arguments->max_memory, parse_room,
             "Print what fits into this too: how many keys, and at what rate")
      ->type_name("SIZE");
  size->add_flag("--json", arguments->json, "Print a JSON object");
  size->footer(kSizeFooter);
  size->callback([arguments, &exit_code] { exit_code = run_filter_size(*arguments); });
}

void add_build(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterBuildArguments>();
  auto* build = filter->add_subcommand("build", "Make a filter of lines");
  build->add_option("-o,--output", arguments->output, "The filter's file")
      ->type_name("FILE")
      ->required();
  build->add_option("INPUT", arguments->inputs, "Files of lines");
  add_parsed(build, "--capacity", arguments->capacity, parse_capacity,
             "Keys to size it for; for growing the first layer (default 1M)")
      ->type_name("N");
  add_parsed(build, "--fpr", arguments->rate, parse_rate,
             "Rate of false positives at that capacity (default 1e-6)")
      ->type_name("P");
  add_parsed(build, "--kind", arguments->kind, parse_filter_kind,
             "blocked (default with --capacity), growing (default without), classic, "
             "counting or cuckoo")
      ->type_name("KIND");
  add_parsed(build, "--key", arguments->hash_key, parse_hash_key,
             "Hash key, 32 hexadecimal digits (default: a random one)")
      ->type_name("HEX");
  add_size_options(build, arguments->size);
  build->add_option("--like", arguments->like, "Take kind, capacity, rate and hash key of a filter")
      ->type_name("FILE");
  add_parsed(
      build, "--max-memory", arguments->max_memory, parse_max_memory,
      "Build a blocked or classic filter larger than this by way of the disk: keys that have no "
      "room take up to 12 bytes each in FILE.spool, all keys of a classic one 16 (default: 3/4 of "
      "the machine's memory, or 9/10 of what is free)")
      ->type_name("SIZE");
  add_parsed(build, "--max-spool", arguments->max_spool, parse_max_memory,
             "Disk for these keys; when it is full they are put into the filter, which takes "
             "a minute or so (default: 16GiB, or what is free)")
      ->type_name("SIZE");
  build->add_flag(
      "--exact", arguments->exact,
      "Keep the keys' fingerprints in FILE.keys, 16 bytes each, sorted: what FILE says is "
      "in is looked up there, so that nothing is found that is not in");
  build->add_flag("--force", arguments->force, "Replace FILE if it exists");
  build->add_flag("--progress", arguments->progress,
                  "Tell how it goes, even where standard error is no terminal");
  build->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  build->footer(std::string(kKindsText) + "\n\n" + kLines + "\n" + kBuildFooter);
  build->callback([arguments, &exit_code] { exit_code = run_filter_build(*arguments); });
}

void add_check(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterCheckArguments>();
  auto* check = filter->add_subcommand("check", "Print the lines that are (probably) in a filter");
  check->add_option("FILE", arguments->filter, "The filter's file")->required();
  check->add_option("INPUT", arguments->inputs, "Files of lines");
  check->add_flag("-v,--invert", arguments->invert,
                  "Select the lines that are certainly not in it");
  check->add_flag("-c,--count", arguments->count, "Print the number of lines selected instead");
  check->add_flag("-q,--quiet", arguments->quiet,
                  "Print nothing, and end at the first line selected");
  check->add_flag("--verify", arguments->verify, "Read the whole filter first, and refuse damage");
  check->footer(std::string(kLines) + "\n" + kCheckFooter);
  check->callback([arguments, &exit_code] { exit_code = run_filter_check(*arguments); });
}

void add_info(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterInfoArguments>();
  auto* info = filter->add_subcommand("info", "Tell what a filter's file holds");
  info->add_option("FILE", arguments->filter, "The filter's file")->required();
  info->add_flag("--json", arguments->json, "Print a JSON object");
  info->add_flag("--verify", arguments->verify, "Read the whole file, and refuse damage");
  info->callback([arguments, &exit_code] { exit_code = run_filter_info(*arguments); });
}

void add_change(CLI::App* filter, int& exit_code, bool erase) {
  const auto arguments = std::make_shared<FilterChangeArguments>();
  arguments->erase = erase;
  auto* change = erase ? filter->add_subcommand(
                             "erase", "Take lines out of a counting or cuckoo filter's file")
                       : filter->add_subcommand("add", "Add lines to a filter's file");
  change->add_option("FILE", arguments->filter, "The filter's file")->required();
  change->add_option("INPUT", arguments->inputs, "Files of lines");
  change->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  change->footer(std::string(kLines) + "\n" + (erase ? kEraseFooter : "") + kChangeFooter);
  change->callback([arguments, &exit_code] { exit_code = run_filter_change(*arguments); });
}

void add_merge(CLI::App* filter, int& exit_code) {
  const auto arguments = std::make_shared<FilterMergeArguments>();
  auto* merge = filter->add_subcommand("merge", "Make one filter of several");
  merge->add_option("-o,--output", arguments->output, "The file of the merged filter")
      ->type_name("FILE")
      ->required();
  merge->add_option("FILTER", arguments->filters, "Files of filters, at least two")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  merge->add_flag("--force", arguments->force, "Replace FILE if it exists");
  merge->add_flag("-q,--quiet", arguments->quiet, "Print warnings and errors only");
  merge->footer(kMergeFooter);
  merge->callback([arguments, &exit_code] { exit_code = run_filter_merge(*arguments); });
}

}  // namespace

void add_filter_commands(CLI::App& app, int& exit_code) {
  auto* filter =
      app.add_subcommand("filter", "Size, make, change, ask, inspect and merge filters of lines");
  filter->require_subcommand(1);
  filter->footer(std::string(kKindsText) + "\n" + kExamples);
  add_size(filter, exit_code);
  add_build(filter, exit_code);
  add_change(filter, exit_code, false);
  add_change(filter, exit_code, true);
  add_check(filter, exit_code);
  add_info(filter, exit_code);
  add_merge(filter, exit_code);
}

}  // namespace trawl::cli
