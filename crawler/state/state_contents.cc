#include "crawler/state/state_contents.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "base/directory_entries.h"
#include "base/file_io.h"
#include "base/text_file.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_paths.h"

namespace trawl {

const std::string_view kSavedConfigHead =
    "# Written by trawl: the config of this crawl, which `trawl resume` of this directory reads.\n";

namespace {

namespace fs = std::filesystem;

// Where SharedFrontier keeps which crawl it takes part in; and how that file begins.
constexpr const char* kSharedFrontier = "shared-frontier";
constexpr std::string_view kSharedFrontierTitle = "trawl-shared-frontier ";

bool is_shared_frontier_file(const fs::path& file) {
  constexpr std::size_t kMost = 4096;
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular) return false;
  const auto text = read_text_file(file, kMost);
  return text && text->starts_with(kSharedFrontierTitle);
}

// How many names a message lists.
constexpr std::size_t kNamesShown = 3;

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error);
}

Result<void> refuse_others_config(const fs::path& directory) {
  const fs::path saved = saved_config_path(directory);
  if (!is_entry(saved) || is_saved_config(saved)) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{} was not written by Trawl, which stores the crawl's config under "
                           "this name: move the file away, or set another crawl.state_dir",
                           saved.string()));
}

Error not_ours(const fs::path& directory, std::vector<std::string> names) {
  std::ranges::sort(names);
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string list;
  for (std::size_t i = 0; i < shown; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > shown) list += fmt::format(" and {} more", names.size() - shown);
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} holds no crawl and is not empty: there is {}. A state directory must not "
                      "hold other files: set another crawl.state_dir, such as {}",
                      directory.string(), list, (directory / "state").string())};
}

// Files that a crawl makes outside its state, but that the config may place in the state directory.
struct Products {
  fs::path output;  // a directory, which must be empty
  fs::path log;

  // Whether `path` holds nothing else.
  bool are_all_of(const fs::path& path) const {
    std::error_code error;
    if (is_same_file(path, log)) return true;
    if (!fs::is_directory(fs::symlink_status(path, error))) return false;
    if (path.filename() != "output" && !leads_to(path, output) && !leads_to(path, log))
      return false;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (!are_all_of(it->path())) return false;
    }
    return !error;
  }

 private:
  static bool leads_to(const fs::path& directory, const fs::path& path) {
    std::error_code error;
    const auto absolute = fs::absolute(path, error).lexically_normal();
    const auto relative =
        absolute.lexically_relative(fs::absolute(directory, error).lexically_normal());
    return !path.empty() && !error && !relative.empty() && *relative.begin() != "..";
  }
};

// Files that do not belong to Trawl. `own`: names of the frontier's files.
Result<std::vector<std::string>> strangers(const fs::path& directory,
                                           const std::vector<std::string>& own,
                                           const Products& products) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool passes = name == "lost+found" || std::ranges::find(own, name) != own.end() ||
                        products.are_all_of(it->path());
    if (!passes) names.push_back(name);
  }
  if (!error) return names;
  return tl::unexpected(
      system_error(error.value(), "cannot read the directory " + directory.string()));
}

}  // namespace

bool is_saved_config(const fs::path& file) {
  constexpr std::size_t kMost = 512u << 20;  // includes the seeds of crawl.seed_file
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular) return false;
  const auto text = read_text_file(file, kMost);
  if (!text) return false;
  if (text->starts_with(kSavedConfigHead)) return true;
  // Older versions wrote no head line: every table, each key on a line, and no comments.
  if (!text->starts_with("[crawl]\nseeds = [\n  \"") || text->find("\n#") != std::string::npos)
    return false;
  return std::ranges::all_of(config_keys(), [&text](const ConfigKey& key) {
    return text->find(fmt::format("[{}]\n", key.table())) != std::string::npos;
  });
}

Result<StateContents> inspect_state(const CrawlConfig& config) {
  const fs::path& directory = config.crawl.state_dir;
  if (!is_entry(directory)) return StateContents::kNothing;
  if (std::error_code ignored; !fs::is_directory(directory, ignored)) {
    return tl::unexpected(
        system_error(ENOTDIR, "cannot keep the state of a crawl in " + directory.string()));
  }
  const auto frontier = EmbeddedFrontier::look_at(directory);
  if (!frontier) return tl::unexpected(frontier.error());
  if (auto own = refuse_links(directory,
                              {"content", "known", "crawl.toml", "last-run.toml", kSharedFrontier});
      !own)
    return tl::unexpected(own.error());
  if (auto own = refuse_links(directory, {"output"}); !own) {
    return error(ErrorCode::kInvalidArgument, own.error().message + ", or set output.directory");
  }
  if (frontier->holds_one || frontier->has_remains || is_of_member(directory) ||
      is_saved_config(saved_config_path(directory))) {
    if (auto own = refuse_others_config(directory); !own) return tl::unexpected(own.error());
    if (frontier->holds_one) return StateContents::kCrawl;
    return is_of_member(directory) ? StateContents::kMember : StateContents::kRemains;
  }
  const auto others =
      strangers(directory, frontier->names, {output_directory(config), config.log.file});
  if (!others) return tl::unexpected(others.error());
  if (!others->empty()) return tl::unexpected(not_ours(directory, *others));
  return StateContents::kNothing;
}

bool is_of_member(const fs::path& state_dir) {
  return is_shared_frontier_file(state_dir / kSharedFrontier) || member_config(state_dir);
}

std::optional<CrawlConfig> member_config(const fs::path& state_dir) {
  const fs::path saved = saved_config_path(state_dir);
  if (!is_saved_config(saved)) return std::nullopt;
  auto config = load_config(saved);
  if (!config || !config->cluster.enabled()) return std::nullopt;
  return std::move(*config);
}

Result<bool> holds_crawl(const fs::path& state_dir) {
  const auto frontier = EmbeddedFrontier::look_at(state_dir);
  if (!frontier) return tl::unexpected(frontier.error());
  return frontier->resumable || is_of_member(state_dir);
}

Result<void> check_frontier_place(const CrawlConfig& config) {
  const fs::path& directory = config.crawl.state_dir;
  const auto frontier = EmbeddedFrontier::look_at(directory);
  if (!frontier) return tl::unexpected(frontier.error());
  if (frontier->holds_one) {
    if (!config.cluster.enabled()) return {};
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} holds a crawl with a frontier of its own, which cannot become a "
                             "part of the crawl {} in Redis: set another crawl.state_dir, or "
                             "remove [cluster] to continue the crawl that is there",
                             directory.string(), config.cluster.name));
  }
  if (!is_of_member(directory)) return {};
  const auto member = member_config(directory);
  if (!config.cluster.enabled()) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} belongs to a crawler of a crawl that has its frontier in Redis: "
                             "to continue it, add its [cluster], which is in {}; or set another "
                             "crawl.state_dir",
                             directory.string(), saved_config_path(directory).string()));
  }
  if (!member || member->cluster.name == config.cluster.name) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{} belongs to a crawler of the crawl {} in Redis, and cluster.name is "
                           "{}: set another crawl.state_dir for another crawl",
                           directory.string(), member->cluster.name, config.cluster.name));
}

}  // namespace trawl
