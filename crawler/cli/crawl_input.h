// CrawlInput: what a command is given as its crawl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/run/crawl_control.h"

namespace trawl::cli {

// Every command that takes a crawl takes the same: a config file, the state directory of a crawl,
// "-" for a config on standard input, or a URL, which stands for the crawl that `trawl crawl URL`
// begins, in the directory named after the host. `trawl crawl` also takes several URLs, files of
// URLs, and URLs on standard input.
//
// Nothing is created or changed. Errors are printed, and the exit code is returned.
class CrawlInput {
 public:
  enum class Kind : std::uint8_t { kConfigFile, kStateDirectory, kStandardInput, kUrls };

  // For commands that read the config. `overrides`: --set.
  static tl::expected<CrawlInput, int> resolve(const std::string& target,
                                               const std::vector<std::string>& overrides = {});

  // For commands that need the state directory alone. A directory is taken unread, so that it may
  // be one without a config, or not exist yet; anything else is resolved as above.
  static tl::expected<std::filesystem::path, int> state_directory(const std::string& target);

  // For `trawl crawl`: at most one config, and URLs, which are added to its seeds. Without a
  // config, `directory` or the host of the first URL names the state directory.
  static tl::expected<CrawlInput, int> of_new_crawl(const std::vector<std::string>& inputs,
                                                    const std::string& directory,
                                                    const std::vector<std::string>& overrides);

  Kind kind() const { return kind_; }
  // Its state directory is set; a state directory that was moved is where it is now.
  const CrawlConfig& config() const { return config_; }
  const std::filesystem::path& state_dir() const { return config_.crawl.state_dir; }
  // For URLs whose crawl is continued: the config that it was stored with, with the overrides of
  // this command line and with its URLs as more seeds. Otherwise the input as it is.
  tl::expected<CrawlInput, int> with_stored_config() const;
  // The config to store for later runs: without most of the overrides, unless there is no file.
  CrawlConfig config_to_store() const;
  // Reads the file again, for a running crawl: the one that was given or, without one, that of the
  // state directory. Errors: kInvalidArgument, with a line for each error in the file.
  Result<ReadConfig> read_again() const;
  // As typed, for messages and for commands to type next: "my.toml", "example.com". A state
  // directory for what cannot be given again.
  const std::string& name() const { return name_; }

 private:
  static tl::expected<CrawlInput, int> from_config_file(const std::string& target,
                                                        const std::vector<std::string>& overrides);
  static tl::expected<CrawlInput, int> from_state_directory(
      const std::string& target, const std::vector<std::string>& overrides);
  static tl::expected<CrawlInput, int> from_text(const std::string& toml, const std::string& name,
                                                 const std::vector<std::string>& overrides);
  static tl::expected<CrawlInput, int> from_urls(const std::vector<std::string>& urls,
                                                 const std::string& directory,
                                                 const std::vector<std::string>& overrides);
  int add_seeds(const std::vector<std::string>& urls);

  Kind kind_ = Kind::kConfigFile;
  std::string name_;
  std::filesystem::path file_;  // that the config was read from; empty: none
  std::vector<std::string> overrides_;
  std::vector<std::string> added_seeds_;
  CrawlConfig config_;
};

// Errors: kNotFound with the directory that was searched, if it does not hold a crawl.
Result<void> expect_crawl(const std::filesystem::path& state_dir);

}  // namespace trawl::cli
