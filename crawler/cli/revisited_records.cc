#include "crawler/cli/revisited_records.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "crawler/cli/crawl_input.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/crawl_paths.h"

namespace trawl::cli {

namespace {

bool is_warc_name(std::string_view name) {
  return name.ends_with(".warc") || name.ends_with(".warc.gz") || name.ends_with(".warc.gz.open");
}

// Their names begin with the time at which they were begun.
tl::expected<std::vector<std::string>, int> warc_files_in(const std::filesystem::path& directory) {
  std::vector<std::string> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator each(directory, failure), end; !failure && each != end;
       each.increment(failure)) {
    if (is_warc_name(each->path().filename().native())) files.push_back(each->path().string());
  }
  if (failure) {
    return tl::unexpected(report(
        Error{ErrorCode::kIo, "cannot read " + directory.string() + ": " + failure.message()}));
  }
  if (files.empty()) {
    say(stderr, "trawl: there are no WARC files in {}: crawl with --warc to keep pages in some\n",
        directory.string());
    return tl::unexpected(kFailed);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::size_t hash_of(std::string_view url, std::string_view date) {
  return std::hash<std::string_view>{}(url)*31 + std::hash<std::string_view>{}(date);
}

}  // namespace

tl::expected<std::vector<std::string>, int> warc_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::error_code failure;
    const bool is_directory = std::filesystem::is_directory(input, failure);
    const bool is_crawl = is_directory ? expect_crawl(input).has_value() : input.ends_with(".toml");
    if (!is_directory && !is_crawl) {
      files.push_back(input);
      continue;
    }
    std::filesystem::path directory = input;
    if (is_crawl) {
      const auto crawl = CrawlInput::resolve(input);
      if (!crawl) return tl::unexpected(crawl.error());
      directory = output_directory(crawl->config());
    }
    auto found = warc_files_in(directory);
    if (!found) return found;
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

Result<void> each_record(const std::string& file, std::uint64_t offset, const UseRecord& use,
                         const Damaged& damaged) {
  auto reader = WarcReader::open(file, offset);
  if (!reader) return tl::unexpected(reader.error());
  for (;;) {
    Error damage;
    const auto record = reader->next();
    if (record && !*record) return {};
    if (record) {
      const auto goes_on = use(*reader, **record);
      if (goes_on && !*goes_on) return {};
      if (goes_on) continue;
      damage = goes_on.error();
    } else {
      damage = record.error();
    }
    if (damage.code != ErrorCode::kCorrupt) return tl::unexpected(damage);
    damaged(damage);
    const auto more = reader->skip_damage();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
  }
}

// Records that are compressed together have the offset of the first.
Result<void> RevisitedRecords::read_file(std::size_t file) {
  Place place{.file = file};
  bool is_first = true;
  return each_record(
      files_[file], 0,
      [&](WarcReader&, const WarcRecord& record) -> Result<bool> {
        place.behind = !is_first && place.offset == record.offset ? place.behind + 1 : 0;
        place.offset = record.offset;
        is_first = false;
        if (record.type != "response" && record.type != "resource") return true;
        if (!record.digest.empty()) by_digest_.try_emplace(record.digest, place);
        by_url_and_date_.try_emplace(hash_of(record.url, record.date), place);
        return true;
      },
      [](const Error&) {});  // the caller reports them when it reads all
}

Result<void> RevisitedRecords::read_files() {
  for (std::size_t file = 0; file < files_.size(); ++file) {
    if (auto read = read_file(file); !read) return read;
  }
  return {};
}

Result<std::optional<RevisitedRecords::Place>> RevisitedRecords::find(const WarcRecord& revisit) {
  if (!read_) {
    if (auto read = read_files(); !read) return tl::unexpected(read.error());
    read_ = true;
  }
  if (const auto found = by_digest_.find(revisit.digest); found != by_digest_.end())
    return found->second;
  const std::string& url = revisit.refers_to_url.empty() ? revisit.url : revisit.refers_to_url;
  const auto found = by_url_and_date_.find(hash_of(url, revisit.refers_to_date));
  if (revisit.refers_to_date.empty() || found == by_url_and_date_.end()) return std::nullopt;
  return found->second;
}

}  // namespace trawl::cli
