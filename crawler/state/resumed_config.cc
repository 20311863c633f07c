#include "crawler/state/resumed_config.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "base/file_io.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/state/output_checks.h"
#include "crawler/state/state_contents.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

bool is_same_place(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  return fs::absolute(one, error).lexically_normal() ==
         fs::absolute(other, error).lexically_normal();
}

std::optional<CrawlConfig> config_in(const fs::path& file) {
  if (!is_saved_config(file)) return std::nullopt;
  auto former = load_config(file);
  if (!former) return std::nullopt;
  return std::move(*former);
}

bool trusted_more(const CrawlConfig::Fetch& before, const CrawlConfig::Fetch& now) {
  if (!now.verify_tls) return false;
  return !before.verify_tls || (!before.ca_file.empty() && before.ca_file != now.ca_file);
}

// Keeps the filter's original size and rate in the saved config.
void keep_filter(const CrawlConfig& former, ResumedConfig& resumed) {
  CrawlConfig::Filter& filter = resumed.config.filter;
  if (filter.expected_urls != former.filter.expected_urls) {
    resumed.warnings.push_back(
        fmt::format("filter.expected_urls = {} has no effect: the filter was made for {} URLs when "
                    "the crawl began, and grows automatically",
                    filter.expected_urls, former.filter.expected_urls));
  }
  if (filter.false_positive_rate != former.filter.false_positive_rate) {
    resumed.warnings.push_back(
        fmt::format("filter.false_positive_rate = {} has no effect: the filter was made for {} "
                    "when the crawl began",
                    filter.false_positive_rate, former.filter.false_positive_rate));
  }
  resumed.saved.filter.expected_urls = former.filter.expected_urls;
  resumed.saved.filter.false_positive_rate = former.filter.false_positive_rate;
}

void keep_output(const CrawlConfig& former, ResumedConfig& resumed) {
  const fs::path before = output_directory(former);
  const fs::path now = output_directory(resumed.config);
  if (is_same_place(before, now)) {
    resumed.saved.output.directory = resumed.config.output.directory;
    return;
  }
  if (!holds_output(before)) {
    resumed.saved.output.directory = resumed.config.output.directory;
    return;
  }
  resumed.warnings.push_back(
      fmt::format("output.directory = {} has no effect: the crawl continues to write to {}; to "
                  "write elsewhere, move that directory there first",
                  now.string(), before.string()));
  resumed.config.output.directory = former.output.directory;
  resumed.saved.output.directory = former.output.directory;
}

void keep_ledger(bool has_ledger, ResumedConfig& resumed) {
  CrawlConfig& config = resumed.config;
  const bool wanted = config.frontier.ledger || config.filter.mode == FilterMode::kExact;
  resumed.saved.frontier.ledger = has_ledger;
  // FilterMode::kExact without a ledger is refused elsewhere.
  if (wanted == has_ledger || config.filter.mode == FilterMode::kExact) return;
  resumed.warnings.push_back(
      fmt::format("frontier.ledger = {} has no effect: the crawl was started {} a ledger",
                  config.frontier.ledger, has_ledger ? "with" : "without"));
}

}  // namespace

ResumedConfig resolve_resumed_config(const CrawlConfig& config, const CrawlConfig& saved,
                                     OpenMode mode) {
  ResumedConfig resumed{.config = config, .saved = saved, .warnings = {}};
  resumed.saved.crawl.state_dir = config.crawl.state_dir;
  const fs::path& state_dir = config.crawl.state_dir;
  const auto frontier = EmbeddedFrontier::look_at(state_dir);
  const bool is_member = frontier && !frontier->holds_one && is_of_member(state_dir);
  if (mode == OpenMode::kCreate || !frontier || (!frontier->ledger && !is_member)) return resumed;
  if (!is_member) keep_ledger(*frontier->ledger, resumed);
  auto former = config_in(saved_config_path(state_dir));
  std::error_code error;
  const bool had_own = fs::exists(last_run_path(state_dir), error);
  const auto last = had_own ? config_in(last_run_path(state_dir)) : former;
  resumed.trusts_less = last && trusted_more(last->fetch, config.fetch);
  if (!former) return resumed;
  // A frontier in Redis refuses another filter.expected_urls.
  if (!is_member) keep_filter(*former, resumed);
  // In a copy of a state directory, output.directory names the output of the original.
  const bool is_copy = !is_same_place(former->crawl.state_dir, state_dir);
  if (is_copy && !former->output.directory.empty()) {
    resumed.saved.output.directory = config.output.directory;
    return resumed;
  }
  former->crawl.state_dir = state_dir;  // the directory may have been moved
  keep_output(*former, resumed);
  return resumed;
}

fs::path last_run_path(const fs::path& state_dir) {
  return state_dir / "last-run.toml";
}

Result<void> save_configs(const CrawlConfig& config, const CrawlConfig& saved) {
  const fs::path& state_dir = config.crawl.state_dir;
  const std::string head(kSavedConfigHead);
  constexpr mode_t kOwnerAlone = 0600;  // the files may hold passwords
  if (auto written =
          replace_file(saved_config_path(state_dir).string(), head + to_toml(saved), kOwnerAlone);
      !written) {
    return written;
  }
  const fs::path last = last_run_path(state_dir);
  const std::string run = to_toml(config);
  if (run != to_toml(saved)) return replace_file(last.string(), head + run, kOwnerAlone);
  std::error_code error;
  fs::remove(last, error);
  if (error) return tl::unexpected(system_error(error.value(), "cannot remove " + last.string()));
  return {};
}

}  // namespace trawl
