#include "crawler/output/files_sink.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/one_thread.h"
#include "crawler/output/saved_files.h"

namespace trawl {

namespace {

constexpr std::string_view kFilesFolder = "files";

// Files of a group that failed stay: each is whole, and the page is fetched again.
class FilesSink final : public OutputSink {
 public:
  explicit FilesSink(std::unique_ptr<SavedFiles> files) : files_(std::move(files)) {}

  SinkInputs inputs() const noexcept override { return {.bodies = true}; }
  bool keeps(const PageOutput&, std::string_view part) const noexcept override {
    return !part.empty();
  }

  Result<void> add(PageOutput& page, std::string_view part) override {
    const OneAtATime::Use use(using_);
    const bool not_modified = page.outcome.status == 304 && page.lease.recrawl;
    if (part.empty() && !not_modified) return {};
    const auto url = Url::parse(page.lease.url);
    if (!url) return {};  // it was fetched, so it is one
    if (part.empty()) {
      auto path = files_->find(*url);
      if (!path) return tl::unexpected(path.error());
      if (*path) page.written.file = fmt::format("{}/{}", kFilesFolder, **path);
      return {};
    }
    auto path = files_->save(*url, part);
    if (!path) return tl::unexpected(path.error());
    page.written.file = fmt::format("{}/{}", kFilesFolder, *path);
    return {};
  }
  Result<void> flush(bool) override {
    const OneAtATime::Use use(using_);
    return files_->sync();  // opened for the durability that is wanted
  }
  Result<void> close() override { return files_->sync(); }

 private:
  std::unique_ptr<SavedFiles> files_;
  OneAtATime using_;
};

Result<std::unique_ptr<OutputSink>> open_files(const SinkOpening& opening) {
  auto files = SavedFiles::open(opening.directory / kFilesFolder,
                                opening.config.frontier.durability == Durability::kSync);
  if (!files) return tl::unexpected(files.error());
  return std::make_unique<FilesSink>(*std::move(files));
}

}  // namespace

SinkKind files_sink() {
  return {.stage = SinkKind::Stage::kLines,
          .is_wanted = [](const CrawlConfig& config) { return config.output.files; },
          .open = open_files,
          .owns = [](std::string_view name, const CrawlConfig&) { return name == kFilesFolder; },
          .probe =
              [](const CrawlConfig&, const std::filesystem::path& directory) {
                return SavedFiles::probe(directory / kFilesFolder).map([](bool used) {
                  return std::uint64_t{used};
                });
              }};
}

std::string kept_bodies(const CrawlConfig& config, const std::string& directory) {
  const bool files = config.output.files;
  const std::string_view types =
      config.output.content_types.empty() ? "Pages" : "Pages of output.content_types";
  if (files && config.output.warc)
    return fmt::format("{} are kept as files in {}/{} and in the WARC files in {}.", types,
                       directory, kFilesFolder, directory);
  if (files) return fmt::format("{} are kept as files in {}/{}.", types, directory, kFilesFolder);
  if (config.output.warc)
    return fmt::format("{} are kept in the WARC files in {}.", types, directory);
  return "The bodies of pages are not kept: output.files = true saves them as files, output.warc = "
         "true as WARC files.";
}

}  // namespace trawl
