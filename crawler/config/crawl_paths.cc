#include "crawler/config/crawl_paths.h"

namespace trawl {

std::filesystem::path output_directory(const CrawlConfig& config) {
  return config.output.directory.empty() ? config.crawl.state_dir / "output"
                                         : config.output.directory;
}

std::filesystem::path saved_config_path(const std::filesystem::path& state_dir) {
  return state_dir / "crawl.toml";
}

}  // namespace trawl
