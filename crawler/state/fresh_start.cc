// The order of a fresh start makes it repeatable after a crash. First the output is renamed, then
// the state is deleted, and crawl.toml stays until the new crawl replaces it: while any part of the
// old crawl is left, another --fresh recognises the directory as Trawl's and continues.
#include "crawler/state/fresh_start.h"

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trawl/embedded_frontier.h"

#include "base/database_state.h"
#include "base/directory_entries.h"
#include "base/file_io.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/crash/crash_loop_breaker.h"
#include "crawler/decide/host_limits.h"
#include "crawler/decide/host_pace.h"
#include "crawler/decide/parked_patterns.h"
#include "crawler/decide/recrawl_plan.h"
#include "crawler/decide/seed_redirects.h"
#include "crawler/http/site_cookies.h"
#include "crawler/output/claim_log.h"
#include "crawler/output/content_index.h"
#include "crawler/output/known_bodies.h"
#include "crawler/output/output.h"
#include "crawler/state/crawl_totals.h"
#include "crawler/state/output_checks.h"
#include "crawler/state/resumed_config.h"
#include "crawler/state/sitemap_pages.h"
#include "crawler/tally/stored_tally.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxRenamed = 1'000'000;

bool is_same_directory(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error);
}

// Whether `below` is `directory` or lies in it.
bool contains(const fs::path& directory, const fs::path& below) {
  std::error_code error;
  for (fs::path level = fs::weakly_canonical(below, error); !error; level = level.parent_path()) {
    if (is_same_directory(level, directory)) return true;
    if (!level.has_relative_path()) break;
  }
  return false;
}

bool is_mount_point(const fs::path& directory) {
  struct stat here {
  }, above{};
  return ::stat(directory.c_str(), &here) == 0 && ::stat((directory / "..").c_str(), &above) == 0 &&
         (here.st_dev != above.st_dev || here.st_ino == above.st_ino);
}

Result<void> check_writable(const fs::path& directory) {
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return tl::unexpected(system_error(errno, "cannot write to the directory " + directory.string()));
}

// The files of a crawl other than its frontier's.
std::vector<fs::path> crawl_files(const fs::path& state) {
  std::vector<fs::path> files = CrashLoopBreaker::paths(state);
  files.insert(files.end(),
               {RecrawlPlan::marker_path(state), CrawlTotals::path(state), StoredTally::path(state),
                HostPageQuota::path(state), HostPace::path(state), ParkedPatterns::path(state),
                SeedRedirects::path(state), SiteCookies::path(state), last_run_path(state)});
  return files;
}

// Folders of the state directory that are each a ContentIndex.
constexpr const char* kIndexes[] = {"content", "known"};

// Lists what is deleted, for the report.
Result<std::string> names_of(const fs::path& state) {
  const auto frontier = EmbeddedFrontier::look_at(state);
  if (!frontier) return tl::unexpected(frontier.error());
  std::vector<std::string> names;
  if (!frontier->description.empty()) names.push_back(frontier->description);
  for (const char* index : kIndexes) {
    if (is_entry(state / index)) names.emplace_back(index);
  }
  if (const fs::path pages = SitemapPages::path(state); is_entry(pages))
    names.push_back(pages.filename().string());
  for (const fs::path& file : crawl_files(state)) {
    if (is_entry(file)) names.push_back(file.filename().string());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string left(const fs::path& directory) {
  return fmt::format("kept {}: it has files that are not Trawl's", directory.string());
}

}  // namespace

Result<FreshStart> FreshStart::prepare(const CrawlConfig& config) {
  if (config.cluster.enabled()) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("--fresh does not delete the frontier of the crawl {} in Redis, which "
                             "other crawlers may use: to start over, set another cluster.name and "
                             "another crawl.state_dir, or delete the crawl's keys in Redis and the "
                             "state directories of its crawlers",
                             config.cluster.name));
  }
  if (auto own = check_frontier_place(config); !own) return tl::unexpected(own.error());
  const auto contents = inspect_state(config);
  if (!contents) return tl::unexpected(contents.error());
  FreshStart start;
  std::error_code error;
  start.state_ = fs::absolute(config.crawl.state_dir, error).lexically_normal();
  start.contents_ = *contents;
  if (*contents != StateContents::kNothing) {
    if (auto writable = check_writable(start.state_); !writable)
      return tl::unexpected(writable.error());
    auto lock = EmbeddedFrontier::lock(start.state_);
    if (!lock) return tl::unexpected(lock.error());
    start.lock_ = *std::move(lock);
    if (auto found = start.find_output(); !found) return tl::unexpected(found.error());
  }
  // The old output will be moved away, but the new output must be possible.
  if (start.output_.empty() || !is_same_directory(start.output_, output_directory(config))) {
    if (auto unused = check_output_is_free(config); !unused) return tl::unexpected(unused.error());
  } else if (auto probed = Output::probe(config, start.output_); !probed) {
    return tl::unexpected(probed.error());
  }
  return start;
}

Result<void> FreshStart::find_output() {
  output_ = state_ / "output";
  if (const auto saved = saved_config_path(state_); is_saved_config(saved)) {
    if (auto former = load_config(saved)) {
      // In a copy of a state directory, output.directory names the output of the original.
      if (!former->output.directory.empty() &&
          !is_same_directory(former->crawl.state_dir, state_)) {
        output_.clear();
        return {};
      }
      former->crawl.state_dir = state_;
      output_ = output_directory(*former).lexically_normal();
      former_ = std::move(*former);
    }
  }
  if (!output_.has_filename()) output_ = output_.parent_path();
  if (!holds_output(output_)) {
    output_.clear();
    return {};
  }
  std::error_code error;
  whole_ = !fs::is_symlink(output_, error) && !is_mount_point(output_) &&
           !contains(output_, state_) && !contains(output_, fs::current_path(error)) &&
           check_writable(output_.parent_path()).has_value();
  return check_nobody_writes(output_).and_then([&] { return check_writable(output_); });
}

Result<std::vector<std::string>> FreshStart::carry_out() {
  assert(!done_);
  done_ = true;
  std::vector<std::string> report;
  if (contents_ == StateContents::kNothing) return report;
  // The output first: while the crawl exists, another --fresh finds the rest.
  if (!output_.empty()) {
    if (auto moved = move_output(report); !moved) return tl::unexpected(moved.error());
  }
  if (auto removed = delete_state(report); !removed) return tl::unexpected(removed.error());
  return report;
}

Result<void> FreshStart::move_output(std::vector<std::string>& report) {
  // Repairs WARC files that a crash left open: no later run looks for them under their new path.
  for (const fs::path& path : {saved_config_path(state_), last_run_path(state_)}) {
    if (!is_saved_config(path)) continue;
    const auto former = load_config(path);
    if (!former || !former->output.warc) continue;
    if (const auto repaired = Output::repair_records(*former, output_); !repaired) {
      report.push_back(
          fmt::format("WARC files that a crash left open stay so: {}", repaired.error().message));
    }
  }
  const fs::path base = whole_ ? output_ : output_ / "output";
  fs::path to;
  for (int n = 1; n <= kMaxRenamed; ++n) {
    to = fmt::format("{}.{}", base.string(), n);
    if (!is_entry(to)) break;
  }
  if (whole_) {
    if (std::rename(output_.c_str(), to.c_str()) == 0) {
      report.push_back(fmt::format("renamed {} to {}", output_.string(), to.string()));
      return sync_directory(output_.parent_path().string());
    }
    if (errno != EBUSY && errno != EXDEV)
      return tl::unexpected(system_error(errno, "cannot rename " + output_.string()));
    whole_ = false;  // it is a mount point after all
    return move_output(report);
  }
  std::error_code error;
  fs::create_directory(to, error);
  std::vector<fs::path> files;
  const CrawlConfig former = former_.value_or(CrawlConfig{});
  for (fs::directory_iterator it(output_, error), end; !error && it != end; it.increment(error)) {
    if (is_output_name(it->path().filename().string(), former)) files.push_back(it->path());
  }
  for (const fs::path& file : files) {
    if (!error) fs::rename(file, to / file.filename(), error);
  }
  if (error) {
    return tl::unexpected(
        system_error(error.value(), fmt::format("cannot move the output to {}", to.string())));
  }
  report.push_back(
      fmt::format("moved {} files of {} to {}", files.size(), output_.string(), to.string()));
  return sync_directory(output_.string());
}

Result<void> FreshStart::delete_state(std::vector<std::string>& report) {
  const auto names = names_of(state_);
  if (!names) return tl::unexpected(names.error());
  for (const fs::path& file : crawl_files(state_)) {
    std::error_code error;
    fs::remove(file, error);
    if (error) return tl::unexpected(system_error(error.value(), "cannot remove " + file.string()));
  }
  for (const char* name : kIndexes) {
    const fs::path index = state_ / name;
    const fs::path log = ContentIndex::log_path(index);
    if (holds_any_database(index) || ClaimLog::is_one(log)) {
      for (const fs::path& file : {log, KnownBodies::list_path(index)}) {
        std::error_code error;
        fs::remove(file, error);
        if (error)
          return tl::unexpected(system_error(error.value(), "cannot remove " + file.string()));
      }
    }
    const auto stays = remove_database(index);
    if (!stays) return tl::unexpected(stays.error());
    if (*stays) report.push_back(left(index));
  }
  const auto pages_stay = remove_database(SitemapPages::path(state_));
  if (!pages_stay) return tl::unexpected(pages_stay.error());
  if (*pages_stay) report.push_back(left(SitemapPages::path(state_)));
  lock_.reset();  // EmbeddedFrontier::remove() takes it
  const auto stay = EmbeddedFrontier::remove(state_, true);
  if (!stay) return tl::unexpected(stay.error());
  for (const fs::path& directory : *stay)
    report.push_back(left(directory));
  // crawl.toml stays until the new crawl replaces it: it marks the rest as Trawl's.
  if (!names->empty())
    report.insert(report.begin(),
                  fmt::format("deleted the crawl in {}: {}", state_.string(), *names));
  return {};
}

}  // namespace trawl
