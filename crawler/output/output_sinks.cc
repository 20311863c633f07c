#include "crawler/output/output_sinks.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/output/durable_directory.h"

namespace trawl {

namespace {

// A page's part for a sink grows no more beyond this many bytes.
constexpr std::size_t kMaxPart = 16u << 20;

Result<void> make_directory(const std::filesystem::path& directory) {
  if (auto made = make_durable_directory(directory); !made) return made;
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return tl::unexpected(system_error(
      errno,
      fmt::format("cannot write to the directory {} (output.directory)", directory.string())));
}

// Whether the directory exists. If not: checks that it could be created, but does not create it.
Result<bool> check_writable(const std::filesystem::path& directory) {
  std::error_code error;
  auto level = std::filesystem::absolute(directory, error).lexically_normal();
  const bool exists = std::filesystem::exists(level, error);
  // In the end, the directory where the next one would be created. A symbolic link without a target
  // cannot become a directory.
  while (!std::filesystem::exists(level, error) && level.has_relative_path() &&
         !std::filesystem::is_symlink(level, error))
    level = level.parent_path();
  if (std::filesystem::is_directory(level, error)) {
    if (::access(level.c_str(), W_OK | X_OK) == 0) return exists;
  } else {
    errno = ENOTDIR;
  }
  return tl::unexpected(system_error(
      errno, exists ? fmt::format("cannot write to the directory {} (output.directory)",
                                  directory.string())
                    : fmt::format("cannot create the directory {} (output.directory) under {}",
                                  directory.string(), level.string())));
}

using Sinks = std::vector<std::unique_ptr<OutputSink>>;

// The part of `page` that belongs to a sink.
std::string& part_of(PageOutput& page, std::size_t sink, std::size_t sinks) {
  if (page.parts.empty()) page.parts.resize(sinks);
  assert(page.parts.size() == sinks && "a page of another output");
  return page.parts[sink];
}

std::string_view part_of(const PageOutput& page, std::size_t sink) {
  return sink < page.parts.size() ? std::string_view(page.parts[sink]) : std::string_view();
}

}  // namespace

Result<OutputSinks> OutputSinks::open(const CrawlConfig& config,
                                      const std::filesystem::path& directory,
                                      const std::filesystem::path& state_dir, bool sync,
                                      std::span<const SinkKind> kinds, TallyTarget tally) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  OutputSinks sinks;
  sinks.sync_ = sync;
  sinks.pages_path_ = (directory / "pages.jsonl").string();
  if (auto opened = sinks.open_sinks(config, directory, state_dir, kinds); !opened)
    return tl::unexpected(opened.error());
  if (tally.tally != nullptr)
    sinks.sinks_.push_back(std::make_unique<TallySink>(std::move(tally), sinks.pages_path_));
  for (std::size_t i = 0; i < sinks.sinks_.size(); ++i) {
    const SinkInputs inputs = sinks.sinks_[i]->inputs();
    if (inputs.links) sinks.link_sinks_.push_back(i);
    if (inputs.skipped) sinks.skipped_sinks_.push_back(i);
    if (inputs.bodies) sinks.body_sinks_.push_back(i);
    sinks.inputs_.links |= inputs.links;
    sinks.inputs_.skipped |= inputs.skipped;
    sinks.inputs_.exchanges |= inputs.exchanges;
    sinks.inputs_.outlinks |= inputs.outlinks;
    sinks.inputs_.bodies |= inputs.bodies;
  }
  return sinks;
}

// Opened in the reverse order of writing: the lock of pages.jsonl keeps a second crawl away from
// the other files.
Result<void> OutputSinks::open_sinks(const CrawlConfig& config,
                                     const std::filesystem::path& directory,
                                     const std::filesystem::path& state_dir,
                                     std::span<const SinkKind> kinds) {
  const SinkOpening opening{.config = config, .directory = directory, .repairs = &repairs_};
  const auto open_stage = [&](SinkKind::Stage stage) -> Result<Sinks> {
    Sinks opened;
    for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
      if (kind->stage != stage || !kind->is_wanted(config)) continue;
      auto sink = kind->open(opening);
      if (!sink) return tl::unexpected(sink.error());
      opened.insert(opened.begin(), *std::move(sink));
    }
    return opened;
  };
  auto lines = open_stage(SinkKind::Stage::kLines);
  if (!lines) return tl::unexpected(lines.error());
  auto records = open_stage(SinkKind::Stage::kRecords);
  if (!records) return tl::unexpected(records.error());
  if (auto synced = sync_directory(directory.string()); !synced) return synced;
  auto index = ContentIndex::open(state_dir / "content",
                                  {.sync = sync_, .expected_bodies = config.filter.expected_urls});
  if (!index) return tl::unexpected(index.error());
  auto bodies = std::make_unique<BodyIndexSink>(*std::move(index));
  bodies_ = bodies.get();
  sinks_ = *std::move(records);
  sinks_.push_back(std::move(bodies));
  std::move(lines->begin(), lines->end(), std::back_inserter(sinks_));
  return {};
}

Result<std::vector<std::string>> OutputSinks::repair_records(const CrawlConfig& config,
                                                             const std::filesystem::path& directory,
                                                             std::span<const SinkKind> kinds) {
  std::vector<std::string> repairs;
  for (const SinkKind& kind : kinds) {
    if (kind.stage != SinkKind::Stage::kRecords || !kind.is_wanted(config)) continue;
    auto sink = kind.open({.config = config, .directory = directory, .repairs = &repairs});
    if (!sink) return tl::unexpected(sink.error());
  }
  return repairs;
}

Result<bool> OutputSinks::probe(const CrawlConfig& config, const std::filesystem::path& directory,
                                std::span<const SinkKind> kinds) {
  auto exists = check_writable(directory);
  if (!exists || !*exists) return exists;
  std::uint64_t bytes = 0;
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
    if (kind->probe == nullptr || !kind->is_wanted(config)) continue;
    const auto size = kind->probe(config, directory);
    if (!size) return tl::unexpected(size.error());
    bytes += *size;
  }
  return bytes > 0;
}

void OutputSinks::add_link(PageOutput& page, std::string_view from, const LinkRecord& link) const {
  for (const std::size_t i : link_sinks_) {
    std::string& part = part_of(page, i, sinks_.size());
    if (part.size() < kMaxPart) sinks_[i]->encode_link(from, link, part);
  }
}

void OutputSinks::add_skipped(PageOutput& page, std::string_view from,
                              const SkippedRecord& skipped) const {
  for (const std::size_t i : skipped_sinks_) {
    std::string& part = part_of(page, i, sinks_.size());
    if (part.size() < kMaxPart) sinks_[i]->encode_skipped(from, skipped, part);
  }
}

void OutputSinks::add_body(PageOutput& page, std::string&& body) const {
  for (const std::size_t i : body_sinks_) {
    std::string& part = part_of(page, i, sinks_.size());
    if (i == body_sinks_.back()) {
      part = std::move(body);
    } else {
      part = body;
    }
  }
}

bool OutputSinks::keeps(const PageOutput& page) const noexcept {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (sinks_[i]->keeps(page, part_of(page, i))) return true;
  }
  return false;
}

OutputSinks::Encoders OutputSinks::encoders() const {
  Encoders made;
  made.sinks_ = sinks_.size();
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (auto encoder = sinks_[i]->exchange_encoder())
      made.encoders_.emplace_back(i, std::move(encoder));
  }
  return made;
}

void OutputSinks::Encoders::add_exchange(PageOutput& page, const WarcExchange& exchange,
                                         const std::string& digest, const RevisitOf* revisit) {
  for (const auto& [sink, encoder] : encoders_)
    encoder->encode(exchange, digest, revisit, page, part_of(page, sink, sinks_));
}

void OutputSinks::Encoders::add_resource(PageOutput& page, const WarcResource& resource) {
  for (const auto& [sink, encoder] : encoders_)
    encoder->encode(resource, page, part_of(page, sink, sinks_));
}

Result<void> OutputSinks::write(std::span<PageOutput* const> group, bool complete,
                                const std::atomic<bool>& abandoned) {
  const OneAtATime::Use use(using_);
  for (const auto& sink : sinks_)
    sink->begin();
  auto written = write_all(group, complete, abandoned);
  if (written) return written;
  for (const auto& sink : sinks_)
    sink->take_back();
  return written;
}

Result<void> OutputSinks::write_all(std::span<PageOutput* const> group, bool complete,
                                    const std::atomic<bool>& abandoned) {
  for (PageOutput* const page : group) {
    if (auto entered = bodies_->enter(*page); !entered) return entered;
  }
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (auto written = write_sink(i, group, complete, abandoned); !written) return written;
  }
  return {};
}

Result<void> OutputSinks::write_sink(std::size_t sink, std::span<PageOutput* const> group,
                                     bool complete, const std::atomic<bool>& abandoned) {
  for (PageOutput* const page : group) {
    if (abandoned.load(std::memory_order_relaxed))
      return error(ErrorCode::kClosed, "the output was closed before it was written");
    if (auto added = sinks_[sink]->add(*page, part_of(*page, sink)); !added) return added;
    page->release_written(sink);
  }
  return complete ? sinks_[sink]->flush(sync_) : Result<void>();
}

Result<void> OutputSinks::do_periodic_work() {
  const OneAtATime::Use use(using_);
  for (const auto& sink : sinks_) {
    if (auto ticked = sink->do_periodic_work(); !ticked) return ticked;
  }
  return {};
}

std::chrono::milliseconds OutputSinks::tick_interval() const noexcept {
  std::chrono::milliseconds least = std::chrono::hours(1);
  for (const auto& sink : sinks_)
    least = std::min(least, sink->tick_interval());
  return least;
}

Result<void> OutputSinks::close() {
  const OneAtATime::Use use(using_);
  Result<void> result;
  for (const auto& sink : sinks_) {
    auto closed = sink->close();
    if (result) result = std::move(closed);
  }
  bodies_ = nullptr;
  sinks_.clear();
  return result;
}

}  // namespace trawl
