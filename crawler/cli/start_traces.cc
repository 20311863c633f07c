#include "crawler/cli/start_traces.h"

#include <system_error>

#include "trawl/embedded_frontier.h"

#include "crawler/config/crawl_paths.h"
#include "crawler/state/output_checks.h"

namespace trawl::cli {

namespace {

namespace fs = std::filesystem;

void add_missing(const fs::path& directory, std::vector<fs::path>& missing) {
  std::error_code failure;
  fs::path level = fs::absolute(directory, failure).lexically_normal();
  if (!level.has_filename()) level = level.parent_path();
  while (!failure && level.has_relative_path() && !fs::exists(level, failure)) {
    missing.push_back(level);
    level = level.parent_path();
  }
}

// Files without a byte, such as those that the output had just created.
void remove_empty_files(const fs::path& directory) {
  std::error_code failure;
  std::vector<fs::path> empty;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && it->file_size(ignored) == 0 && !ignored)
      empty.push_back(it->path());
  }
  for (const fs::path& file : empty)
    fs::remove(file, failure);
}

}  // namespace

StartTraces::StartTraces(const CrawlConfig& config)
    : state_(config.crawl.state_dir),
      output_(output_directory(config)),
      is_shared_(config.cluster.enabled()) {
  std::error_code failure;
  state_is_new_ = !fs::exists(state_, failure) && !failure;
  add_missing(output_, new_directories_);
  if (!config.log.file.empty()) add_missing(config.log.file.parent_path(), new_directories_);
  add_missing(state_, new_directories_);
}

void StartTraces::remove_after(const Error& failure) const {
  // With a frontier in Redis these may be about other crawlers, and not about the directory; the
  // lock below decides.
  if (!is_shared_ &&
      (failure.code == ErrorCode::kInUse || failure.code == ErrorCode::kAlreadyExists))
    return;
  std::error_code ignored;
  if (state_is_new_ && fs::exists(state_, ignored)) {
    // Another process may have begun a crawl there in the moment since this one gave it up.
    const auto lock = EmbeddedFrontier::lock(state_);
    if (!lock || holds_output(output_)) return;
    fs::remove_all(state_, ignored);
  }
  for (const fs::path& directory : new_directories_) {
    remove_empty_files(directory);
    fs::remove(directory, ignored);  // fails if there is anything in it
  }
}

}  // namespace trawl::cli
