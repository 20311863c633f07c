#include "crawler/cli/frontier_settings.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "crawler/cli/config_errors.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_line_loader.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/run/crawl.h"
#include "frontier/recovery/manifest.h"

namespace trawl::cli {

namespace {

EmbeddedOptions settings_without_config(const std::filesystem::path& directory) {
  EmbeddedOptions options;
  options.limits.max_url_length = FrontierLineLoader::kLongestUrl;
  options.limits.max_note_bytes = kMaxNoteBytes;
  // EmbeddedFrontier::open() reports errors in the MANIFEST.
  const auto manifest = Manifest::read(directory);
  if (!manifest || !*manifest) return options;
  if (auto profile = Profile::from_name((*manifest)->profile))
    options.seen.profile = std::move(*profile);
  return options;
}

}  // namespace

tl::expected<EmbeddedOptions, int> frontier_settings(const std::string& state_dir,
                                                     const std::string& config) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::absolute(state_dir, error);
  if (error) {
    return tl::unexpected(
        report(system_error(error.value(), "cannot find the absolute path of " + state_dir)));
  }
  const std::filesystem::path file =
      config.empty() ? saved_config_path(directory) : std::filesystem::path(config);
  EmbeddedOptions options;
  if (!config.empty() || std::filesystem::exists(file, error)) {
    const auto loaded = load_config(file);
    if (!loaded) return tl::unexpected(report_config_errors(loaded.error()));
    if (loaded->cluster.enabled()) {
      return tl::unexpected(
          report({ErrorCode::kInvalidArgument,
                  fmt::format("the frontier of {} is in Redis, in the crawl {}, and not in this "
                              "directory: see trawl cluster --help",
                              directory.string(), loaded->cluster.name)}));
    }
    auto settings = frontier_options_of(*loaded);
    if (!settings) return tl::unexpected(report(settings.error()));
    options = std::move(*settings);
  } else {
    options = settings_without_config(directory);
  }
  options.directory = directory;
  return options;
}

}  // namespace trawl::cli
