// trawl warc list|cat|extract
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/revisited_records.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/cli/warc_payload.h"
#include "crawler/output/json_line.h"
#include "crawler/output/saved_files.h"
#include "crawler/warc/warc_reader.h"

namespace trawl::cli {

namespace {

struct WarcArguments {
  std::vector<std::string> files;
  std::string url, type, status;  // filters; empty: all
  std::optional<std::uint64_t> offset;
  std::string directory = "files";
  bool json = false;
  bool raw = false;
};

// "*" stands for any characters.
bool matches_url(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

// "200" or "4xx".
bool has_status(std::string_view wanted, int status) {
  const std::string text = std::to_string(status);
  if (wanted.size() != text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (wanted[i] != 'x' && wanted[i] != 'X' && wanted[i] != text[i]) return false;
  }
  return true;
}

bool is_wanted(const WarcArguments& arguments, const WarcRecord& record) {
  return (arguments.url.empty() || matches_url(arguments.url, record.url)) &&
         (arguments.type.empty() || arguments.type == record.type);
}

// As each_record(), and reports damage. Returns whether all was whole.
Result<bool> each_record_reporting(const std::string& file, const UseRecord& use,
                                   std::uint64_t offset = 0) {
  bool whole = true;
  const auto read = each_record(file, offset, use, [&](const Error& damage) {
    whole = false;
    say(stderr, "trawl: {}\n", damage.message);
  });
  if (!read) return tl::unexpected(read.error());
  return whole;
}

void print_record(const WarcArguments& arguments, const std::string& file, const WarcRecord& record,
                  int status) {
  if (arguments.json) {
    std::string line;
    JsonLine json(line);
    json.text("file", file)
        .number("offset", record.offset)
        .text_or_null("type", record.type)
        .text_or_null("date", record.date);
    status > 0 ? json.signed_number("status", status) : json.null("status");
    json.number("length", record.length)
        .text_or_null("url", record.url)
        .text_or_null("digest", record.digest)
        .end();
    say_lines(stdout, line);
    return;
  }
  if (arguments.files.size() > 1) say("{}\t", file);
  say("{}\t{}\t{}\t{}\t{}\t{}\n", record.offset, record.type,
      record.date.empty() ? "-" : record.date, status > 0 ? std::to_string(status) : "-",
      record.length, record.url.empty() ? "-" : record.url);
}

int run_warc_list(const WarcArguments& arguments) {
  bool whole = true;
  for (const std::string& file : arguments.files) {
    const auto read = each_record_reporting(
        file, [&](WarcReader& reader, const WarcRecord& record) -> Result<bool> {
          if (!is_wanted(arguments, record)) return true;
          int status = 0;
          if (record.is_http() && record.type != "request") {
            const auto head = reader.read_http_head();
            if (!head) return tl::unexpected(head.error());
            status = head->status;
          }
          if (arguments.status.empty() || has_status(arguments.status, status))
            print_record(arguments, file, record, status);
          return true;
        });
    if (!read) return report(read.error());
    whole = whole && *read;
  }
  return whole ? kDone : kFailed;
}

using Write = std::function<Result<void>(std::string_view)>;

Result<void> write_payload(WarcReader& reader, const WarcRecord& record, bool raw,
                           const Write& write) {
  auto payload = WarcPayload::open(reader, record, raw);
  if (!payload) return tl::unexpected(payload.error());
  for (;;) {
    const auto piece = payload->next();
    if (!piece) {
      return error(piece.error().code,
                   fmt::format("the record at offset {} ({}): {}", record.offset, record.url,
                               piece.error().message));
    }
    if (piece->empty()) return {};
    if (auto written = write(*piece); !written) return written;
  }
}

// Writes the payload that a revisit refers to. False: it is not in the files.
Result<bool> write_revisited(RevisitedRecords& revisited, const WarcArguments& arguments,
                             const WarcRecord& revisit, const Write& write) {
  const auto place = revisited.find(revisit);
  if (!place) return tl::unexpected(place.error());
  if (!*place) return false;
  auto reader = WarcReader::open(arguments.files[(*place)->file], (*place)->offset);
  if (!reader) return tl::unexpected(reader.error());
  auto record = reader->next();
  for (std::uint64_t i = 0; record && *record && i < (*place)->behind; ++i)
    record = reader->next();
  if (!record) return tl::unexpected(record.error());
  if (!*record) return false;
  return write_payload(*reader, **record, arguments.raw, write).map([] { return true; });
}

int run_warc_cat(const WarcArguments& arguments) {
  if (arguments.url.empty() == !arguments.offset)
    return usage_error("trawl warc cat needs either --url or --offset");
  const Write write = [](std::string_view bytes) -> Result<void> {
    return write_all(STDOUT_FILENO, bytes, "standard output");
  };
  std::optional<WarcRecord> revisit;
  bool found = false;
  for (const std::string& file : arguments.files) {
    const auto read = each_record_reporting(
        file,
        [&](WarcReader& reader, const WarcRecord& record) -> Result<bool> {
          const bool page = record.type == "response" || record.type == "resource" ||
                            record.type == "revisit" || record.type == "conversion";
          if (!arguments.offset && arguments.type.empty() && !page) return true;
          if (!is_wanted(arguments, record)) return true;
          found = true;
          if (record.type == "revisit") {
            revisit = record;
            return false;
          }
          return write_payload(reader, record, arguments.raw, write).map([] { return false; });
        },
        arguments.offset.value_or(0));
    if (!read) return report(read.error());
    if (found || arguments.offset) break;
  }
  if (revisit) {
    RevisitedRecords revisited(arguments.files);
    const auto written = write_revisited(revisited, arguments, *revisit, write);
    if (!written) return report(written.error());
    if (*written) return kDone;
    say(stderr,
        "trawl: the record of {} refers to an earlier one that is not in the files given: {} of "
        "{}\n",
        revisit->url, revisit->refers_to_url, revisit->refers_to_date);
    return kFailed;
  }
  if (found) return kDone;
  say(stderr, "trawl: no such record: trawl warc list shows what is there\n");
  return kFailed;
}

int run_warc_extract(const WarcArguments& arguments) {
  auto files = SavedFiles::open(arguments.directory, false);
  if (!files) return report(files.error());
  RevisitedRecords revisited(arguments.files);
  std::uint64_t written = 0, missing = 0;
  bool whole = true;
  for (const std::string& file : arguments.files) {
    const auto read = each_record_reporting(
        file, [&](WarcReader& reader, const WarcRecord& record) -> Result<bool> {
          const bool revisit = record.type == "revisit";
          if (record.type != "response" && record.type != "resource" && !revisit) return true;
          if (!is_wanted(arguments, record)) return true;
          const auto url = Url::parse(record.url);
          if (!url) return true;  // "dns:", for example
          auto out = (*files)->create();
          if (!out) return tl::unexpected(out.error());
          std::uint64_t bytes = 0;
          const Write write = [&](std::string_view piece) {
            bytes += piece.size();
            return out->write(piece);
          };
          if (revisit) {
            const auto found = write_revisited(revisited, arguments, record, write);
            if (!found) return tl::unexpected(found.error());
            if (!*found) {
              ++missing;
              return true;
            }
          } else {
            auto payload = WarcPayload::open(reader, record, arguments.raw);
            if (!payload) return tl::unexpected(payload.error());
            const int status = payload->http() ? payload->http()->status : 200;
            const bool kept = arguments.status.empty() ? status >= 200 && status < 300
                                                       : has_status(arguments.status, status);
            if (!kept) return true;
            for (;;) {
              const auto piece = payload->next();
              if (!piece)
                return error(piece.error().code,
                             fmt::format("{}: the record at offset {} ({}): {}", file,
                                         record.offset, record.url, piece.error().message));
              if (piece->empty()) break;
              if (auto added = write(*piece); !added) return tl::unexpected(added.error());
            }
          }
          if (bytes == 0) return true;
          const auto path = (*files)->finish(*std::move(out), *url);
          if (!path) return tl::unexpected(path.error());
          ++written;
          say("{}\t{}\n", *path, record.url);
          return true;
        });
    if (!read) return report(read.error());
    whole = whole && *read;
  }
  say(stderr, "{} files written to {}{}\n", written, arguments.directory,
      missing > 0
          ? fmt::format("; {} revisit records refer to records that are not in the files given",
                        missing)
          : "");
  return whole ? kDone : kFailed;
}

int with_files(WarcArguments& arguments, int (*run)(const WarcArguments&)) {
  auto files = warc_files(arguments.files);
  if (!files) return files.error();
  arguments.files = *std::move(files);
  return run(arguments);
}

void add_filters(CLI::App* command, WarcArguments& arguments) {
  command
      ->add_option(
          "FILE", arguments.files,
          "WARC files, .warc or .warc.gz; or a folder of them, a state directory, a config")
      ->required();
  command->add_option("--url", arguments.url, "Only records of this URL; * stands for anything");
  command->add_option("--type", arguments.type,
                      "Only records of this type: response, request, ...");
}

}  // namespace

void add_warc_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<WarcArguments>();
  auto* warc = app.add_subcommand("warc", "Read WARC files: list, cat, extract");
  warc->require_subcommand(1);
  const std::string damage =
      "Reads WARC/1.0 and 1.1, compressed or not, of Trawl and of other tools. What is damaged is "
      "reported with its offset and passed over; the exit code is 1 then.";
  describe(warc, {.text = damage,
                  .output = "What its commands say: lines about records, a body, or files.",
                  .examples = {{"trawl warc list pages.warc.gz", "what is in it"},
                               {"trawl warc list example.com", "all files of the crawl there"}},
                  .exits = common_exits()});

  auto* list = warc->add_subcommand("list", "List the records of WARC files");
  add_filters(list, *arguments);
  list->add_option("--status", arguments->status, "Only responses with this status: 200, 4xx");
  list->add_flag("--json", arguments->json, "Print JSON, one object per line");
  describe(list, {.text = damage,
                  .output = "A line for each record, with tabs: offset, type, date, status, length "
                            "of the block, URL; with more than one file, its name first.",
                  .examples = {{"trawl warc list --type response --status 404 pages.warc.gz"},
                               {"trawl warc list --json --url '*/news/*' *.warc.gz"}},
                  .exits = common_exits()});
  list->callback([arguments, &exit_code] { exit_code = with_files(*arguments, run_warc_list); });

  auto* cat = warc->add_subcommand("cat", "Print what a record holds");
  add_filters(cat, *arguments);
  cat->add_option("--offset", arguments->offset, "The record at this offset, as list shows it");
  cat->add_flag("--raw", arguments->raw, "Do not decode chunks and Content-Encoding");
  describe(cat, {.text = "Prints the body of the first response of a URL, or what the record at an "
                         "offset holds. For a revisit record the earlier record that has the body "
                         "is looked for in the files given.\n\n" +
                         damage,
                 .output = "The bytes of the body, decoded.",
                 .examples = {{"trawl warc cat --url https://example.com/ pages.warc.gz"},
                              {"trawl warc cat --offset 1234 --raw pages.warc.gz"}},
                 .exits = common_exits()});
  cat->callback([arguments, &exit_code] { exit_code = with_files(*arguments, run_warc_cat); });

  auto* extract = warc->add_subcommand("extract", "Write the bodies of responses as files");
  add_filters(extract, *arguments);
  extract->add_option("--status", arguments->status,
                      "Only responses with this status: 200, 4xx (default: 2xx)");
  extract->add_option("-o,--output", arguments->directory, "The folder to write to")
      ->type_name("DIR")
      ->capture_default_str();
  extract->add_flag("--raw", arguments->raw, "Do not decode chunks and Content-Encoding");
  describe(
      extract,
      {.text = "Writes DIR/HOST/FOLDER/FILE, named as output.files names them: no URL leads out "
               "of DIR, and no two URLs share a file. A later record of a URL replaces its "
               "file.\n\n" +
               damage,
       .output = "A line for each file: its path in DIR, a tab, the URL.",
       .examples = {{"trawl warc extract -o site pages.warc.gz"}},
       .exits = common_exits()});
  extract->callback(
      [arguments, &exit_code] { exit_code = with_files(*arguments, run_warc_extract); });
}

}  // namespace trawl::cli
