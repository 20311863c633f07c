#include "crawler/tally/stored_tally.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/file_io.h"
#include "base/file_line_reader.h"
#include "base/rfc3339.h"

namespace trawl {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kMaxFile = 64u << 20;
// A line has URLs, headers and an error, all of them bounded; with the text of a page it is longer.
constexpr std::size_t kMaxLine = 32u << 20;

Json to_json(const FetchTimes& times) {
  return {{"counts", times.counts}, {"sum_ms", times.sum_ms}};
}

void from_json(const Json& json, FetchTimes& times) {
  json.at("counts").get_to(times.counts);
  json.at("sum_ms").get_to(times.sum_ms);
}

Json to_json(const TallyTotals& totals) {
  Json statuses = Json::object();
  for (const auto& [status, count] : totals.by_status)
    statuses[std::to_string(status)] = count;
  Json failures = Json::array();
  for (const auto& [reason, failure] : totals.failures) {
    failures.push_back({{"reason", failure.reason},
                        {"count", failure.count},
                        {"url", failure.url},
                        {"error", failure.error}});
  }
  return {{"lines", totals.lines},
          {"by_class", totals.by_class},
          {"bytes_by_class", totals.bytes_by_class},
          {"by_status", std::move(statuses)},
          {"redirects", totals.redirects},
          {"duplicates", totals.duplicates},
          {"truncated", totals.truncated},
          {"recrawls", totals.recrawls},
          {"failed", totals.failed},
          {"failures", std::move(failures)},
          {"times", to_json(totals.times)}};
}

TallyTotals totals_of(const Json& json) {
  TallyTotals totals;
  json.at("lines").get_to(totals.lines);
  json.at("by_class").get_to(totals.by_class);
  json.at("bytes_by_class").get_to(totals.bytes_by_class);
  for (const auto& [status, count] : json.at("by_status").items())
    totals.by_status[std::stoi(status)] = count.get<std::uint64_t>();
  json.at("redirects").get_to(totals.redirects);
  json.at("duplicates").get_to(totals.duplicates);
  json.at("truncated").get_to(totals.truncated);
  json.at("recrawls").get_to(totals.recrawls);
  json.at("failed").get_to(totals.failed);
  for (const Json& each : json.at("failures")) {
    FailureTally failure{.reason = each.at("reason"),
                         .count = each.at("count"),
                         .url = each.at("url"),
                         .error = each.at("error")};
    totals.failures.emplace(failure.reason, failure);
  }
  from_json(json.at("times"), totals.times);
  return totals;
}

Json to_json(const HostTally& host) {
  Json json = {{"host", host.host},
               {"fetched", host.fetched},
               {"by_class", host.by_class},
               {"bytes", host.bytes},
               {"failed", host.failed},
               {"duplicates", host.duplicates},
               {"elapsed_ms", host.elapsed_ms},
               {"longest_ms", host.longest_ms},
               {"last_error", host.last_error},
               {"last_fetch", to_rfc3339(host.last_fetch)}};
  if (host.smallest_gap) json["smallest_gap_ms"] = host.smallest_gap->count();
  return json;
}

SystemTime time_of(const Json& text) {
  const auto time = parse_rfc3339(text.get_ref<const std::string&>());
  return time ? *time : SystemTime{};
}

HostTally host_of(const Json& json) {
  HostTally host;
  json.at("host").get_to(host.host);
  json.at("fetched").get_to(host.fetched);
  json.at("by_class").get_to(host.by_class);
  json.at("bytes").get_to(host.bytes);
  json.at("failed").get_to(host.failed);
  json.at("duplicates").get_to(host.duplicates);
  json.at("elapsed_ms").get_to(host.elapsed_ms);
  json.at("longest_ms").get_to(host.longest_ms);
  json.at("last_error").get_to(host.last_error);
  host.last_fetch = time_of(json.at("last_fetch"));
  if (const auto gap = json.find("smallest_gap_ms"); gap != json.end())
    host.smallest_gap = std::chrono::milliseconds(gap->get<std::int64_t>());
  return host;
}

Json to_json(const RecentError& error) {
  return {{"time", to_rfc3339(error.time)},
          {"url", error.url},
          {"status", error.status},
          {"reason", error.reason},
          {"error", error.error}};
}

RecentError error_of(const Json& json) {
  return {.time = time_of(json.at("time")),
          .url = json.at("url"),
          .status = json.at("status"),
          .reason = json.at("reason"),
          .error = json.at("error")};
}

// A row of numbers: there are many samples.
Json to_json(const HistorySample& sample) {
  const auto time =
      std::chrono::duration_cast<std::chrono::milliseconds>(sample.time.time_since_epoch());
  return {time.count(), sample.pages,  sample.bytes,     sample.queued,
          sample.seen,  sample.failed, sample.in_flight, sample.memory};
}

HistorySample sample_of(const Json& row) {
  return {.time = SystemTime(std::chrono::milliseconds(row.at(0).get<std::int64_t>())),
          .pages = row.at(1),
          .bytes = row.at(2),
          .queued = row.at(3),
          .seen = row.at(4),
          .failed = row.at(5),
          .in_flight = row.at(6),
          .memory = row.at(7)};
}

// Throws Json::exception, or std::exception of a number out of range, if the file is damaged.
StoredTally stored_of(const Json& json) {
  StoredTally stored;
  stored.tally.totals = totals_of(json.at("totals"));
  for (const Json& host : json.at("hosts"))
    stored.tally.hosts.push_back(host_of(host));
  stored.tally.other_hosts = host_of(json.at("other_hosts"));
  for (const Json& each : json.at("errors"))
    stored.tally.errors.push_back(error_of(each));
  json.at("offset").get_to(stored.tally.offset);
  stored.history_interval = std::chrono::milliseconds(json.at("history_ms").get<std::int64_t>());
  for (const Json& row : json.at("history"))
    stored.history.push_back(sample_of(row));
  json.at("skipped").get_to(stored.skipped);
  json.at("peak_memory").get_to(stored.peak_memory);
  json.at("elapsed_ms").get_to(stored.elapsed_ms);
  return stored;
}

// The file as it is; nothing if there is none or, with a warning, if it is damaged.
Result<std::optional<StoredTally>> read_stored(const std::filesystem::path& file,
                                               std::string& warning) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing)) return std::nullopt;
  const auto text = read_file(file.string(), kMaxFile);
  if (!text) return tl::unexpected(text.error());
  try {
    const Json json = Json::parse(*text);
    const int version = json.at("version").get<int>();
    if (version > kVersion) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} has format {}, but this trawl reads up to {}: use the newer "
                               "trawl that wrote it",
                               file.string(), version, kVersion));
    }
    return stored_of(json);
  } catch (const std::exception&) {
    warning =
        fmt::format("{} is damaged: its numbers are counted again from pages.jsonl", file.string());
    return std::nullopt;
  }
}

std::string_view text_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string()
             ? std::string_view(found->get_ref<const std::string&>())
             : std::string_view();
}

template <class Number>
Number number_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<Number>() : Number{};
}

bool is_set(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && !found->is_null() && *found != Json(false);
}

// A line that is not JSON is counted without its data: it is a line.
void add_line(std::string_view text, CrawlTally& tally) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return tally.add({});
  const std::string_view url = text_at(line, "url");
  const auto parsed = Url::parse(url);
  const std::string host = parsed ? std::string(politeness_group(*parsed)) : std::string();
  const auto fetched_at = parse_rfc3339(text_at(line, "fetched_at"));
  tally.add({.url = url,
             .host = host,
             .status = number_at<int>(line, "status"),
             .error = text_at(line, "error"),
             .reason = text_at(line, "reason"),
             .bytes = number_at<std::uint64_t>(line, "bytes"),
             .elapsed = std::chrono::milliseconds(number_at<std::int64_t>(line, "elapsed_ms")),
             .fetched_at = fetched_at ? *fetched_at : SystemTime{},
             .redirect = is_set(line, "redirect"),
             .duplicate = is_set(line, "duplicate_of"),
             .truncated = is_set(line, "truncated"),
             .recrawl = is_set(line, "recrawl")});
}

// Adds the lines after the offset.
Result<void> add_later_lines(const std::filesystem::path& pages, TallySnapshot& snapshot) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(pages, missing)) {
    snapshot.offset = 0;
    return {};
  }
  const auto file = InputFile::open(pages.string());
  if (!file) return tl::unexpected(file.error());
  const auto size = file->size();
  if (!size) return tl::unexpected(size.error());
  // A smaller file is another one: the numbers are to add up to its lines.
  if (*size < snapshot.offset) snapshot = {};
  const std::uint64_t begin = snapshot.offset;
  if (begin == *size) return {};
  CrawlTally tally(std::move(snapshot));
  FileLineReader lines(*file, kMaxLine, begin);
  std::uint64_t end = begin;
  for (;;) {
    const auto more = lines.next();
    if (!more) return tl::unexpected(more.error());
    // The next run removes an incomplete line.
    if (!*more || !lines.whole()) break;
    add_line(lines.line(), tally);
    end = lines.next_offset();
  }
  snapshot = tally.snapshot();
  snapshot.offset = end;
  return {};
}

}  // namespace

std::filesystem::path StoredTally::path(const std::filesystem::path& state_dir) {
  return state_dir / "tally";
}

Result<StoredTally> StoredTally::read(const std::filesystem::path& state_dir,
                                      const std::filesystem::path& pages) {
  std::string warning;
  auto found = read_stored(path(state_dir), warning);
  if (!found) return tl::unexpected(found.error());
  StoredTally stored = *found ? **std::move(found) : StoredTally{};
  if (!warning.empty()) stored.warnings.push_back(std::move(warning));
  if (auto added = add_later_lines(pages, stored.tally); !added)
    return tl::unexpected(added.error());
  return stored;
}

Result<void> StoredTally::write(const std::filesystem::path& state_dir) const {
  Json hosts = Json::array();
  for (const HostTally& host : tally.hosts)
    hosts.push_back(to_json(host));
  Json errors = Json::array();
  for (const RecentError& each : tally.errors)
    errors.push_back(to_json(each));
  Json samples = Json::array();
  for (const HistorySample& sample : history)
    samples.push_back(to_json(sample));
  const Json json = {{"version", kVersion},
                     {"offset", tally.offset},
                     {"totals", to_json(tally.totals)},
                     {"other_hosts", to_json(tally.other_hosts)},
                     {"skipped", skipped},
                     {"peak_memory", peak_memory},
                     {"elapsed_ms", elapsed_ms},
                     {"history_ms", history_interval.count()},
                     {"history", std::move(samples)},
                     {"errors", std::move(errors)},
                     {"hosts", std::move(hosts)}};
  // Texts from servers may be invalid UTF-8.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return replace_file(path(state_dir).string(), text);
}

}  // namespace trawl
