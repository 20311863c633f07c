#include "crawler/cli/crawl_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text_file.h"
#include "crawler/cli/config_errors.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/run_overrides.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/cli/typed_urls.h"
#include "crawler/config/config_values.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/state/state_contents.h"

namespace trawl::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandardInputName = "standard input";
// A list of URLs may be long; a config is not.
constexpr std::size_t kMaxListBytes = std::size_t{256} << 20;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_plain_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

tl::expected<std::string, int> text_of(const std::string& target) {
  auto text = read_text_file(target == "-" ? "/dev/stdin" : target, kMaxListBytes);
  if (text) return std::move(*text);
  return tl::unexpected(
      report({ErrorCode::kIo,
              fmt::format("{}: {}", target == "-" ? kStandardInputName : target, text.error())}));
}

std::string list_name(const std::string& target) {
  return target == "-" ? std::string(kStandardInputName) : target;
}

int report_url_lines(const UrlLines& lines, const std::string& name) {
  for (const WrongUrlLine& wrong : lines.wrong)
    say(stderr, "trawl: {}:{}: {}\n", name, wrong.line, wrong.why);
  if (lines.more_wrong > 0)
    say(stderr, "trawl: and {} more lines that are not URLs\n", lines.more_wrong);
  return kUsage;
}

// A name that can only be a config gets the error, and the exit code, of a config.
int report_missing(const std::string& target) {
  if (target.ends_with(".toml")) return report_config_errors(load_config(target).error());
  return report(
      {ErrorCode::kNotFound, fmt::format("no such config file or state directory: {}", target)});
}

std::string config_text(const std::string& seed, const std::string& directory) {
  return fmt::format("[crawl]\nseeds = [{}]\nstate_dir = {}\n", toml_string(seed),
                     toml_string(directory));
}

}  // namespace

Result<void> expect_crawl(const fs::path& state_dir) {
  std::error_code failure;
  const auto directory = fs::absolute(state_dir, failure).lexically_normal();
  const auto found = holds_crawl(directory);
  if (!found) return tl::unexpected(found.error());
  if (*found) return {};
  return error(ErrorCode::kNotFound,
               fmt::format("no crawl in {}{}", directory.string(),
                           is_there(directory) ? ": the directory has no MANIFEST"
                                               : ", which does not exist"));
}

tl::expected<CrawlInput, int> CrawlInput::resolve(const std::string& target,
                                                  const std::vector<std::string>& overrides) {
  if (target == "-") {
    auto text = text_of(target);
    if (!text) return tl::unexpected(text.error());
    if (kind_of_text(*text) == TextKind::kConfig)
      return from_text(*text, std::string(kStandardInputName), overrides);
    const UrlLines lines = read_url_lines(*text);
    if (!lines.wrong.empty())
      return tl::unexpected(report_url_lines(lines, std::string(kStandardInputName)));
    return from_urls(lines.urls, {}, overrides);
  }
  if (is_folder(target)) return from_state_directory(target, overrides);
  if (is_there(target)) return from_config_file(target, overrides);
  if (!looks_like_url(target)) return tl::unexpected(report_missing(target));
  const auto url = typed_url(target);
  if (!url) return tl::unexpected(usage_error(url.error().message));
  const std::string directory = directory_name_of(*url);
  if (is_there(saved_config_path(directory))) return from_state_directory(directory, overrides);
  return from_urls({*url}, {}, overrides);
}

tl::expected<fs::path, int> CrawlInput::state_directory(const std::string& target) {
  const bool is_file = target == "-" || (is_there(target) && !is_folder(target));
  if (is_file) {
    auto input = resolve(target);
    if (!input) return tl::unexpected(input.error());
    return input->state_dir();
  }
  std::error_code failure;
  const bool is_url = !is_there(target) && target.find("://") != std::string::npos;
  const auto url = is_url ? typed_url(target) : Result<std::string>(target);
  if (!url) return tl::unexpected(usage_error(url.error().message));
  const fs::path directory = fs::absolute(is_url ? directory_name_of(*url) : target, failure);
  if (!failure) return directory;
  return tl::unexpected(
      report(system_error(failure.value(), "cannot find the absolute path of " + target)));
}

tl::expected<CrawlInput, int> CrawlInput::from_config_file(
    const std::string& target, const std::vector<std::string>& overrides) {
  auto config = load_config(target, overrides);
  if (!config) return tl::unexpected(report_config_errors(config.error()));
  CrawlInput input;
  input.kind_ = Kind::kConfigFile;
  input.name_ = target;
  input.file_ = target;
  input.overrides_ = overrides;
  input.config_ = std::move(*config);
  return input;
}

tl::expected<CrawlInput, int> CrawlInput::from_state_directory(
    const std::string& target, const std::vector<std::string>& overrides) {
  const fs::path file = saved_config_path(target);
  if (!is_there(file)) {
    if (auto holds = expect_crawl(target); !holds) return tl::unexpected(report(holds.error()));
    return tl::unexpected(report(
        {ErrorCode::kNotFound,
         fmt::format("{} holds a crawl, but not its config file {}: give the config file instead",
                     target, file.filename().string())}));
  }
  auto config = load_config(file, overrides);
  if (!config) return tl::unexpected(report_config_errors(config.error()));
  // The state directory may have been moved since the crawl started.
  std::error_code failure;
  config->crawl.state_dir = fs::absolute(target, failure);
  CrawlInput input;
  input.kind_ = Kind::kStateDirectory;
  input.name_ = target;
  input.file_ = file;
  input.overrides_ = overrides;
  input.config_ = std::move(*config);
  return input;
}

tl::expected<CrawlInput, int> CrawlInput::from_text(const std::string& toml,
                                                    const std::string& name,
                                                    const std::vector<std::string>& overrides) {
  auto config = parse_config(toml, name, overrides);
  if (!config) return tl::unexpected(report_config_errors(config.error()));
  CrawlInput input;
  input.kind_ = Kind::kStandardInput;
  input.name_ = config->crawl.state_dir.string();
  input.overrides_ = overrides;
  input.config_ = std::move(*config);
  return input;
}

tl::expected<CrawlInput, int> CrawlInput::from_urls(const std::vector<std::string>& urls,
                                                    const std::string& directory,
                                                    const std::vector<std::string>& overrides) {
  if (urls.empty()) return tl::unexpected(usage_error("there is not a URL in the input"));
  const std::string place = directory.empty() ? directory_name_of(urls.front()) : directory;
  auto config = parse_config(config_text(urls.front(), place), "the command line", overrides);
  if (!config) return tl::unexpected(report_config_errors(config.error()));
  CrawlInput input;
  input.kind_ = Kind::kUrls;
  input.name_ = config->crawl.state_dir.string();
  input.overrides_ = overrides;
  input.config_ = std::move(*config);
  if (const int code = input.add_seeds({urls.begin() + 1, urls.end()}); code != kDone)
    return tl::unexpected(code);
  return input;
}

int CrawlInput::add_seeds(const std::vector<std::string>& urls) {
  const std::size_t most = config_.scope.max_url_length;
  for (const std::string& url : urls) {
    if (url.size() <= most) continue;
    return usage_error(fmt::format("a URL has {} bytes, more than scope.max_url_length = {}: {}",
                                   url.size(), most, shown(url)));
  }
  added_seeds_ = urls;
  config_.crawl.seeds.insert(config_.crawl.seeds.end(), urls.begin(), urls.end());
  return kDone;
}

tl::expected<CrawlInput, int> CrawlInput::of_new_crawl(const std::vector<std::string>& inputs,
                                                       const std::string& directory,
                                                       const std::vector<std::string>& overrides) {
  std::optional<std::string> config;  // as text if it is on standard input
  std::string config_name;
  std::vector<std::string> urls;
  for (const std::string& target : inputs) {
    const bool typed =
        target != "-" && (!is_there(target) || (is_folder(target) && looks_like_url(target)));
    if (typed) {
      if (!looks_like_url(target)) {
        const int code = report_missing(target);
        if (typed_url(target)) say(stderr, "trawl: if it is a host, write https://{}/\n", target);
        return tl::unexpected(code);
      }
      auto url = typed_url(target);
      if (!url) return tl::unexpected(usage_error(url.error().message));
      urls.push_back(std::move(*url));
      continue;
    }
    const bool is_state = is_folder(target);
    auto text = is_state ? tl::expected<std::string, int>(std::string()) : text_of(target);
    if (!text) return tl::unexpected(text.error());
    const bool may_be_list = !is_state && !target.ends_with(".toml");
    if (may_be_list && text->find_first_not_of(" \t\r\n") == std::string::npos) {
      return tl::unexpected(usage_error(
          fmt::format("{} is empty: give URLs, one a line, or a config", list_name(target))));
    }
    if (may_be_list && kind_of_text(*text) == TextKind::kUrls) {
      UrlLines lines = read_url_lines(*text);
      if (!lines.wrong.empty()) return tl::unexpected(report_url_lines(lines, list_name(target)));
      std::ranges::move(lines.urls, std::back_inserter(urls));
      continue;
    }
    if (!config_name.empty()) {
      return tl::unexpected(usage_error(fmt::format("{} and {} are both configs: give one",
                                                    list_name(config_name), list_name(target))));
    }
    config_name = target;
    // What is not a file can be read only once.
    if (!is_state && !is_plain_file(target)) config = std::move(*text);
  }
  std::vector<std::string> all;
  if (config_name.empty()) return from_urls(urls, directory, overrides);
  if (!directory.empty()) all.push_back("crawl.state_dir=" + toml_string(directory));
  all.insert(all.end(), overrides.begin(), overrides.end());
  auto input = config                   ? from_text(*config, list_name(config_name), all)
               : is_folder(config_name) ? from_state_directory(config_name, all)
                                        : from_config_file(config_name, all);
  if (!input) return input;
  if (const int code = input->add_seeds(urls); code != kDone) return tl::unexpected(code);
  return input;
}

Result<ReadConfig> CrawlInput::read_again() const {
  const bool has_file = !file_.empty();
  const fs::path file = has_file ? file_ : saved_config_path(state_dir());
  auto config = load_config(file, has_file ? overrides_ : std::vector<std::string>());
  if (!config) {
    std::string lines;
    for (const ConfigError& wrong : config.error())
      lines += (lines.empty() ? "" : "\n") + wrong.to_string();
    return error(ErrorCode::kInvalidArgument, lines);
  }
  if (!has_file || kind_ == Kind::kStateDirectory) config->crawl.state_dir = state_dir();
  if (!has_file) return ReadConfig{.config = *config, .saved = *config};
  auto& seeds = config->crawl.seeds;
  seeds.insert(seeds.end(), added_seeds_.begin(), added_seeds_.end());
  CrawlInput now = *this;
  now.config_ = *config;
  return ReadConfig{.config = std::move(*config), .saved = now.config_to_store()};
}

tl::expected<CrawlInput, int> CrawlInput::with_stored_config() const {
  const fs::path file = saved_config_path(state_dir());
  if (kind_ != Kind::kUrls || !is_there(file)) return *this;
  auto config = load_config(file, overrides_);
  if (!config) return tl::unexpected(report_config_errors(config.error()));
  config->crawl.state_dir = config_.crawl.state_dir;
  std::vector<std::string>& seeds = config->crawl.seeds;
  for (const std::string& seed : config_.crawl.seeds) {
    if (std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
  }
  CrawlInput input = *this;
  input.config_ = std::move(*config);
  return input;
}

CrawlConfig CrawlInput::config_to_store() const {
  if (file_.empty()) return config_;
  CrawlConfig stored = config_to_keep(file_, overrides_, config_);
  stored.crawl.seeds.insert(stored.crawl.seeds.end(), added_seeds_.begin(), added_seeds_.end());
  return stored;
}

}  // namespace trawl::cli
