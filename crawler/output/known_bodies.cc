#include "crawler/output/known_bodies.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/file_io.h"
#include "base/file_line_reader.h"
#include "crawler/warc/cdxj_line.h"

namespace trawl {

namespace {

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kLongestList = 16u << 20;
constexpr std::uint64_t kLinesPerCommit = 100'000;

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

}  // namespace

Result<std::unique_ptr<KnownBodies>> KnownBodies::open(const std::filesystem::path& directory,
                                                       const std::vector<std::string>& patterns) {
  std::vector<std::filesystem::path> files;
  for (const std::string& pattern : patterns) {
    auto found = files_of(pattern);
    if (!found) return tl::unexpected(found.error());
    files.insert(files.end(), found->begin(), found->end());
  }
  auto index = ContentIndex::open(directory, {});
  if (!index) return tl::unexpected(index.error());
  std::unique_ptr<KnownBodies> known(new KnownBodies(*std::move(index)));
  const std::string list_path = KnownBodies::list_path(directory).string();
  std::error_code failure;
  std::string list;
  if (std::filesystem::exists(list_path, failure)) {
    auto stored = read_file(list_path, kLongestList);
    if (!stored) return tl::unexpected(stored.error());
    list = *std::move(stored);
  }
  for (const std::filesystem::path& file : files) {
    const std::string line = line_of(file);
    if (list.find(line) != std::string::npos) continue;
    if (auto done = known->read(file); !done) return tl::unexpected(done.error());
    list += line;
    constexpr mode_t kOwnerAlone = 0600;
    if (auto written = replace_file(list_path, list, kOwnerAlone); !written)
      return tl::unexpected(written.error());
  }
  return known;
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
