#include "crawler/state/former_run.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "base/file_io.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/state/output_guard.h"
#include "crawler/state/state_guard.h"

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
void settle_filter(const CrawlConfig& former, SettledConfig& settled) {
  CrawlConfig::Filter& filter = settled.config.filter;
  if (filter.expected_urls != former.filter.expected_urls) {
    settled.warnings.push_back(
        fmt::format("filter.expected_urls = {} has no effect: the filter was made for {} URLs when "
                    "the crawl began, and grows automatically",
                    filter.expected_urls, former.filter.expected_urls));
  }
  if (filter.false_positive_rate != former.filter.false_positive_rate) {
    settled.warnings.push_back(
        fmt::format("filter.false_positive_rate = {} has no effect: the filter was made for {} "
                    "when the crawl began",
                    filter.false_positive_rate, former.filter.false_positive_rate));
  }
  settled.saved.filter.expected_urls = former.filter.expected_urls;
  settled.saved.filter.false_positive_rate = former.filter.false_positive_rate;
}

void settle_output(const CrawlConfig& former, SettledConfig& settled) {
  const fs::path before = output_directory(former);
  const fs::path now = output_directory(settled.config);
  if (is_same_place(before, now)) {
    settled.saved.output.directory = settled.config.output.directory;
    return;
  }
  if (!holds_output(before)) {
    settled.saved.output.directory = settled.config.output.directory;
    return;
  }
  settled.warnings.push_back(
      fmt::format("output.directory = {} has no effect: the crawl continues to write to {}; to "
                  "write elsewhere, move that directory there first",
                  now.string(), before.string()));
  settled.config.output.directory = former.output.directory;
  settled.saved.output.directory = former.output.directory;
}

void settle_ledger(bool has_ledger, SettledConfig& settled) {
  CrawlConfig& config = settled.config;
  const bool wanted = config.frontier.ledger || config.filter.mode == FilterMode::kExact;
  settled.saved.frontier.ledger = has_ledger;
  // FilterMode::kExact without a ledger is refused elsewhere.
  if (wanted == has_ledger || config.filter.mode == FilterMode::kExact) return;
  settled.warnings.push_back(
      fmt::format("frontier.ledger = {} has no effect: the crawl was started {} a ledger",
                  config.frontier.ledger, has_ledger ? "with" : "without"));
}

}  // namespace

SettledConfig settle_with_former_run(const CrawlConfig& config, const CrawlConfig& saved,
                                     OpenMode mode) {
  SettledConfig settled{.config = config, .saved = saved, .warnings = {}};
  settled.saved.crawl.state_dir = config.crawl.state_dir;
  const fs::path& state_dir = config.crawl.state_dir;
  const auto frontier = EmbeddedFrontier::look_at(state_dir);
  if (mode == OpenMode::kCreate || !frontier || !frontier->ledger) return settled;
  settle_ledger(*frontier->ledger, settled);
  auto former = config_in(saved_config_path(state_dir));
  std::error_code error;
  const bool had_own = fs::exists(last_run_path(state_dir), error);
  const auto last = had_own ? config_in(last_run_path(state_dir)) : former;
  settled.trusts_less = last && trusted_more(last->fetch, config.fetch);
  if (!former) return settled;
  settle_filter(*former, settled);
  // In a copy of a state directory, output.directory names the output of the original.
  const bool is_copy = !is_same_place(former->crawl.state_dir, state_dir);
  if (is_copy && !former->output.directory.empty()) {
    settled.saved.output.directory = config.output.directory;
    return settled;
  }
  former->crawl.state_dir = state_dir;  // the directory may have been moved
  settle_output(*former, settled);
  return settled;
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
