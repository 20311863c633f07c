#include "crawler/output/output_files.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/output/durable_directory.h"
#include "crawler/output/page_line.h"

namespace trawl {

namespace {

// Lines of a commit are appended in pieces of this size.
constexpr std::size_t kBufferSize = 1u << 20;

Result<void> make_directory(const std::filesystem::path& directory) {
  if (auto made = make_durable_directory(directory); !made) return made;
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return tl::unexpected(system_error(errno, "cannot write to the directory " + directory.string()));
}

// Whether the directory is there; if it is not, whether it could be made, which is not done.
Result<bool> check_writable(const std::filesystem::path& directory) {
  std::error_code error;
  auto level = std::filesystem::absolute(directory, error).lexically_normal();
  const bool exists = std::filesystem::exists(level, error);
  // What would be made next, in the end: a link that leads nowhere cannot be made a directory.
  while (!std::filesystem::exists(level, error) && level.has_relative_path() &&
         !std::filesystem::is_symlink(level, error))
    level = level.parent_path();
  if (std::filesystem::is_directory(level, error)) {
    if (::access(level.c_str(), W_OK | X_OK) == 0) return exists;
  } else {
    errno = ENOTDIR;
  }
  return tl::unexpected(system_error(
      errno, exists ? fmt::format("cannot write to the directory {}", directory.string())
                    : fmt::format("cannot create the directory {}, because of {}",
                                  directory.string(), level.string())));
}

WarcFilesOptions warc_options(const CrawlConfig& config) {
  WarcFilesOptions options;
  options.prefix = config.output.warc_prefix;
  options.max_size = config.output.warc_size;
  options.max_age = config.output.warc_time;
  options.cdxj = config.output.cdxj;
  options.operator_name = config.output.warc_operator;
  options.description = config.output.warc_description;
  options.user_agent = config.crawl.user_agent;
  options.robots = config.politeness.respect_robots ? "obey" : "ignore";
  return options;
}

}  // namespace

Result<void> OutputFiles::Lines::add(std::string_view lines) {
  // So that a page with very many is not copied.
  if (buffer.size() + lines.size() > kBufferSize) {
    if (auto flushed = flush(); !flushed) return flushed;
    if (lines.size() > kBufferSize) return file.append(lines);
  }
  buffer += lines;
  return {};
}

Result<void> OutputFiles::Lines::flush() {
  auto appended = file.append(buffer);
  buffer.clear();
  return appended;
}

Result<void> OutputFiles::open_lines(std::optional<Lines>& lines,
                                     const std::filesystem::path& path) {
  auto file = LineFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if (file->cut_at_open() > 0) {
    repairs_.push_back(fmt::format("{}: cut {} bytes of a line that was not whole", file->path(),
                                   file->cut_at_open()));
  }
  lines.emplace(Lines{std::move(*file)});
  return {};
}

Result<void> OutputFiles::open_warc(const CrawlConfig& config,
                                    const std::filesystem::path& directory) {
  auto warc = WarcFiles::open(directory, warc_options(config));
  if (!warc) return tl::unexpected(warc.error());
  warc_ = std::move(*warc);
  for (const WarcRepair& repair : warc_->repairs())
    repairs_.push_back(repair.message);
  return {};
}

Result<OutputFiles> OutputFiles::open(const CrawlConfig& config,
                                      const std::filesystem::path& directory,
                                      const std::filesystem::path& state_dir, bool sync) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  OutputFiles files;
  files.sync_ = sync;
  files.pages_path_ = (directory / "pages.jsonl").string();
  Result<void> opened;
  // The lines first: their locks keep a second crawl out of the rest.
  if (config.output.pages) opened = files.open_lines(files.pages_, directory / "pages.jsonl");
  if (opened && config.output.links) {
    opened = files.open_lines(files.links_, directory / "links.jsonl");
  }
  if (opened && config.output.skipped) {
    opened = files.open_lines(files.skipped_, directory / "skipped.jsonl");
  }
  if (opened && config.output.warc) opened = files.open_warc(config, directory);
  if (opened) opened = sync_directory(directory.string());
  if (!opened) return tl::unexpected(opened.error());
  auto index = ContentIndex::open(state_dir / "content",
                                  {.sync = sync, .expected_bodies = config.filter.expected_urls});
  if (!index) return tl::unexpected(index.error());
  files.index_ = std::move(*index);
  return files;
}

Result<std::vector<std::string>> OutputFiles::repair_warc_files(
    const CrawlConfig& config, const std::filesystem::path& directory) {
  auto warc = WarcFiles::open(directory, warc_options(config));
  if (!warc) return tl::unexpected(warc.error());
  std::vector<std::string> done;
  for (const WarcRepair& repair : (*warc)->repairs())
    done.push_back(repair.message);
  return done;
}

Result<bool> OutputFiles::probe(const CrawlConfig& config, const std::filesystem::path& directory) {
  auto exists = check_writable(directory);
  if (!exists || !*exists) return exists;
  std::uint64_t bytes = 0;
  const auto look_at = [&](bool wanted, const char* name) -> Result<void> {
    if (!wanted) return {};
    return LineFile::probe(directory / name).map([&](std::uint64_t size) { bytes += size; });
  };
  const auto looked =
      look_at(config.output.pages, "pages.jsonl")
          .and_then([&] { return look_at(config.output.links, "links.jsonl"); })
          .and_then([&] { return look_at(config.output.skipped, "skipped.jsonl"); });
  if (!looked) return tl::unexpected(looked.error());
  return bytes > 0;
}

Result<void> OutputFiles::look_for_copies(PageOutput& page) {
  if (!page.has_comparable_body()) return {};
  // A revisit record holds no body, so that no other can refer to it.
  const bool archived = page.warc && page.warc->page_bytes > 0;
  const FirstCopy copy{page.lease.url, archived ? page.warc->date : std::string()};
  auto first = index_->claim(page.page.digest, copy);
  if (!first) return tl::unexpected(first.error());
  if (*first && (*first)->url != copy.url) page.written.duplicate_of = std::move((*first)->url);
  return {};
}

Result<void> OutputFiles::write_page(PageOutput& page) {
  const OneAtATime::Use use(using_);
  if (auto looked = look_for_copies(page); !looked) return looked;
  if (warc_ && page.warc) {
    auto place = warc_->append(*page.warc);
    if (!place) return tl::unexpected(place.error());
    page.written.place = std::move(*place);
  }
  page.warc.reset();
  return {};
}

Result<void> OutputFiles::write_records(const WarcRecords& records) {
  const OneAtATime::Use use(using_);
  if (!warc_) return {};
  auto place = warc_->append(records);
  if (!place) return tl::unexpected(place.error());
  return {};
}

Result<void> OutputFiles::finish(std::span<PageOutput* const> pages) {
  const OneAtATime::Use use(using_);
  if (warc_) {
    if (auto flushed = warc_->flush(sync_); !flushed) return flushed;
    if (auto closed = warc_->tick(); !closed) return closed;
  }
  // A claim tells others that there is a record.
  if (auto claimed = index_->commit(); !claimed) return claimed;
  return write_lines(pages);
}

bool OutputFiles::keeps(const PageOutput& page) const noexcept {
  return (warc_ && page.warc) || (pages_ && page.listed) || (links_ && !page.link_lines.empty()) ||
         (skipped_ && !page.skipped_lines.empty()) || page.has_comparable_body();
}

Result<void> OutputFiles::write_lines(std::span<PageOutput* const> pages) {
  std::array<std::uint64_t, 3> sizes{};
  const auto files = line_files();
  for (std::size_t i = 0; i < files.size(); ++i)
    sizes[i] = *files[i] ? (**files[i]).file.size() : 0;
  Result<void> written;
  for (PageOutput* const page : pages) {
    if (written) written = add_lines(*page);
  }
  if (written) written = flush_lines();
  if (!written) take_lines_back(sizes);
  return written;
}

Result<void> OutputFiles::add_lines(PageOutput& page) {
  if (links_) {
    if (auto added = links_->add(page.link_lines); !added) return added;
  }
  if (skipped_) {
    if (auto added = skipped_->add(page.skipped_lines); !added) return added;
  }
  page.discard();
  if (!pages_ || !page.listed) return {};
  append_page_line(pages_->buffer, page);
  return pages_->buffer.size() < kBufferSize ? Result<void>() : pages_->flush();
}

Result<void> OutputFiles::flush_lines() {
  // The pages last: whose line is there has the others, too.
  for (std::optional<Lines>* const lines : line_files()) {
    if (!*lines) continue;
    if (auto flushed = (**lines).flush(); !flushed) return flushed;
    if (!sync_) continue;
    if (auto synced = (**lines).file.sync(); !synced) return synced;
  }
  return {};
}

void OutputFiles::take_lines_back(const std::array<std::uint64_t, 3>& sizes) {
  const auto files = line_files();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!*files[i]) continue;
    (**files[i]).buffer.clear();
    // Should it fail, the lines are there twice after the crawl was resumed.
    [[maybe_unused]] const auto cut = (**files[i]).file.cut_back(sizes[i]);
  }
}

Result<void> OutputFiles::tick() {
  const OneAtATime::Use use(using_);
  return warc_ ? warc_->tick() : Result<void>();
}

Result<void> OutputFiles::close(bool keep_claims) {
  const OneAtATime::Use use(using_);
  Result<void> result;
  if (warc_) result = warc_->close();
  // Of pages that were fetched but are to be tried again.
  if (keep_claims && result) result = index_->commit();
  warc_.reset();
  index_.reset();
  for (std::optional<Lines>* const lines : line_files())
    lines->reset();
  return result;
}

}  // namespace trawl
