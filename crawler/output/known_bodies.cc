#include "crawler/output/known_bodies.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/file_io.h"
#include "base/file_line_reader.h"
#include "crawler/log/room_log.h"
#include "crawler/output/durable_directory.h"
#include "crawler/warc/cdxj_line.h"

namespace trawl {

namespace {

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kLongestList = 16u << 20;
constexpr std::uint64_t kLinesPerCommit = 100'000;
constexpr std::string_view kBeingRead = "unfinished\n";

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos;
}

// The files of a pattern, sorted.
Result<std::vector<std::filesystem::path>> files_of(const std::string& pattern) {
  const std::filesystem::path path(pattern);
  const std::string name = path.filename().string();
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  if (!is_pattern(name)) {
    if (std::filesystem::is_regular_file(path, failure)) files.push_back(path);
  } else {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
      const std::string each = entry.path().filename().string();
      if (entry.is_regular_file(failure) && ::fnmatch(name.c_str(), each.c_str(), 0) == 0)
        files.push_back(entry.path());
    }
  }
  if (files.empty())
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("output.known: no file is called {}", pattern));
  std::ranges::sort(files);
  return files;
}

// Size and time of change say whether a file is the one that was read.
std::string line_of(const std::filesystem::path& file) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(file, failure);
  const auto changed = std::filesystem::last_write_time(file, failure).time_since_epoch().count();
  return fmt::format("{} {} {}\n", size, changed, std::filesystem::absolute(file).string());
}

// The indexes that the list names, by their lines. Empty: there is no list.
Result<std::set<std::string>> read_list(const std::string& path) {
  std::set<std::string> lines;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return lines;
  const auto stored = read_file(path, kLongestList);
  if (!stored) return tl::unexpected(stored.error());
  for (std::size_t at = 0; at < stored->size();) {
    const std::size_t end = std::min(stored->find('\n', at), stored->size() - 1);
    lines.insert(stored->substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

Result<void> write_list(const std::string& path, const std::set<std::string>& lines) {
  constexpr mode_t kOwnerAlone = 0600;
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return replace_file(path, text, kOwnerAlone);
}

// All but the list.
Result<void> remove_bodies(const std::filesystem::path& directory) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    if (entry.path() != KnownBodies::list_path(directory))
      std::filesystem::remove_all(entry.path(), failure);
    if (failure)
      return tl::unexpected(
          system_error(failure.value(), "cannot remove " + entry.path().string()));
  }
  return {};
}

}  // namespace

// While the index is not that of the list, the list has a line that no file has. So after a crash
// in between it is made again.
Result<std::unique_ptr<KnownBodies>> KnownBodies::open(const std::filesystem::path& directory,
                                                       const std::vector<std::string>& patterns) {
  std::map<std::string, std::filesystem::path> files;  // by their lines
  for (const std::string& pattern : patterns) {
    auto found = files_of(pattern);
    if (!found) return tl::unexpected(found.error());
    for (std::filesystem::path& file : *found) {
      std::string line = line_of(file);
      files.emplace(std::move(line), std::move(file));
    }
  }
  std::set<std::string> lines;
  for (const auto& [line, file] : files)
    lines.insert(line);
  if (auto made = make_durable_directory(directory); !made) return tl::unexpected(made.error());
  const std::string list_path = KnownBodies::list_path(directory).string();
  auto listed = read_list(list_path);
  if (!listed) return tl::unexpected(listed.error());
  const bool changed = *listed != lines;
  if (changed) {
    auto unfinished = *listed;
    unfinished.insert(std::string(kBeingRead));
    if (auto noted = write_list(list_path, unfinished); !noted)
      return tl::unexpected(noted.error());
    // An index that is no longer named, or that has changed, leaves nothing.
    if (!std::ranges::includes(lines, *listed)) {
      if (auto removed = remove_bodies(directory); !removed) return tl::unexpected(removed.error());
      listed->clear();
    }
  }
  auto index = ContentIndex::open(directory, {});
  if (!index) return tl::unexpected(index.error());
  std::unique_ptr<KnownBodies> known(new KnownBodies(*std::move(index)));
  for (const auto& [line, file] : files) {
    if (listed->contains(line)) continue;
    if (auto done = known->read(file); !done) return tl::unexpected(done.error());
  }
  if (changed) {
    if (auto written = write_list(list_path, lines); !written)
      return tl::unexpected(written.error());
  }
  return known;
}

Result<std::unique_ptr<KnownBodies>> KnownBodies::open(const CrawlConfig& config, bool archives) {
  const auto directory = config.crawl.state_dir / "known";
  if (config.output.known.empty() || !archives)
    return forget(directory).map([] { return std::unique_ptr<KnownBodies>(); });
  auto known = open(directory, config.output.known);
  if (!known) return known;
  const std::uint64_t damaged = (*known)->damaged_lines();
  room_log(LogRoom::kOutput)
      .info("output.known: {} bodies of earlier crawls{}", (*known)->bodies(),
            damaged > 0 ? fmt::format("; {} damaged lines are left out", damaged) : "");
  return known;
}

Result<void> KnownBodies::forget(const std::filesystem::path& directory) {
  std::error_code failure;
  // Else it is not ours.
  if (!std::filesystem::exists(list_path(directory), failure)) return {};
  std::filesystem::remove_all(directory, failure);
  if (!failure) return {};
  return tl::unexpected(system_error(failure.value(), "cannot remove " + directory.string()));
}

Result<void> KnownBodies::read(const std::filesystem::path& file) {
  auto input = InputFile::open(file.string());
  if (!input) return tl::unexpected(input.error());
  FileLineReader lines(*input, kLongestLine);
  std::uint64_t good = 0;
  while (true) {
    const auto more = lines.next();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    const std::string_view line = lines.line();
    if (line.starts_with('!')) continue;  // a header of some indexes
    auto record = read_cdxj_line(line);
    if (!record || record->url.empty()) {
      ++damaged_;
      continue;
    }
    ++good;
    std::string& digest = record->digest;
    if (digest.empty() || record->mime == "warc/revisit") continue;
    if (digest.find(':') == std::string::npos) digest.insert(0, "sha1:");
    const FirstCopy copy{std::move(record->url), std::move(record->date)};
    if (auto claimed = index_->claim(digest, copy); !claimed)
      return tl::unexpected(claimed.error());
    if (good % kLinesPerCommit == 0) {
      if (auto kept = index_->commit(); !kept) return kept;
    }
  }
  if (good == 0 && lines.number() > 0)
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("output.known: {} is not a CDXJ index: expected lines such as "
                             "\"com,example)/ 20260102030405 {{\"url\": ...}}\"",
                             file.string()));
  return index_->commit();
}

Result<std::optional<FirstCopy>> KnownBodies::find(std::string_view digest) const {
  return index_->find(digest);
}

}  // namespace trawl
