#include "crawler/state/state_guard.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/file_io.h"
#include "base/text_file.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_paths.h"
#include "frontier/recovery/manifest.h"
#include "frontier/store/database_directory.h"

namespace trawl {

const std::string_view kSavedConfigHead =
    "# Written by trawl: the config of this crawl, which `trawl resume` of this directory reads.\n";

namespace {

namespace fs = std::filesystem;

// Of a file of names only the first are listed.
constexpr std::size_t kNamesShown = 3;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// The process that locked the directory last, in digits, or nothing.
bool is_lock_file(const fs::path& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) return false;
  const auto text = read_text_file(path, 64);
  return text && std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_database(const fs::path& directory) {
  return is_there(directory / "CURRENT") || is_there(directory / "UNFINISHED");
}

// The directory of a database, made by who was killed before anything was in it.
bool is_begun_database(const fs::path& directory) {
  std::error_code error;
  return directory.filename() == "store" && is_lock_file(directory.parent_path() / "LOCK") &&
         fs::is_directory(fs::symlink_status(directory, error)) && fs::is_empty(directory, error) &&
         !error;
}

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error);
}

Result<void> refuse_links(const fs::path& directory) {
  for (const char* const name : {"LOCK", "MANIFEST", "MANIFEST.removed", "store", "content",
                                 "output", "crawl.toml", "last-run.toml"}) {
    std::error_code failure;
    const fs::path path = directory / name;
    if (!fs::is_symlink(fs::symlink_status(path, failure))) continue;
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is a symbolic link, and what is in a state directory does not lead "
                    "out of it: put the file or directory itself there{}",
                    path.string(), path.filename() == "output" ? ", or set output.directory" : ""));
  }
  return {};
}

Result<void> refuse_others_config(const fs::path& directory) {
  const fs::path saved = saved_config_path(directory);
  if (!is_there(saved) || is_saved_config(saved)) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{} was not written by Trawl, which keeps the crawl's config under this "
                           "name: move it away, or choose another state directory",
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
          fmt::format("{} holds no crawl, and is not empty: there is {}. A state directory is "
                      "Trawl's alone: choose another one, such as {}",
                      directory.string(), list, (directory / "state").string())};
}

// What a crawl makes outside of its state, and may be told to make in the state directory.
struct Products {
  fs::path output;  // a directory, which is to be empty
  fs::path log;

  // Whether there is nothing else at `path`, or below it.
  bool are_all_of(const fs::path& path) const {
    std::error_code error;
    if (is_same(path, log)) return true;
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

// What keeps the directory from being taken.
Result<std::vector<std::string>> strangers(const fs::path& directory, const Products& products) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool passes = name == "lost+found" || (name == "LOCK" && is_lock_file(it->path())) ||
                        is_begun_database(it->path()) || products.are_all_of(it->path());
    if (!passes) names.push_back(name);
  }
  if (!error) return names;
  return tl::unexpected(
      system_error(error.value(), "cannot read the directory " + directory.string()));
}

bool holds_remains(const fs::path& directory) {
  return is_saved_config(saved_config_path(directory)) ||
         (is_lock_file(directory / "LOCK") && is_database(directory / "store"));
}

}  // namespace

bool is_saved_config(const fs::path& file) {
  constexpr std::size_t kMost = 512u << 20;  // seeds of a file are in it
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular) return false;
  const auto text = read_text_file(file, kMost);
  if (!text) return false;
  if (text->starts_with(kSavedConfigHead)) return true;
  // Before it had a head: every table, each key a line, and no remark.
  if (!text->starts_with("[crawl]\nseeds = [\n  \"") || text->find("\n#") != std::string::npos)
    return false;
  return std::ranges::all_of(config_keys(), [&text](const ConfigKey& key) {
    return text->find(fmt::format("[{}]\n", key.table())) != std::string::npos;
  });
}

Result<StateContents> look_at_state(const CrawlConfig& config) {
  const fs::path& directory = config.crawl.state_dir;
  std::error_code error;
  if (!is_there(directory)) return StateContents::kNothing;
  if (!fs::is_directory(directory, error)) {
    return tl::unexpected(
        system_error(ENOTDIR, "cannot keep the state of a crawl in " + directory.string()));
  }
  if (auto linked = refuse_links(directory); !linked) return tl::unexpected(linked.error());
  const bool crawl = Manifest::is_at(Manifest::path_in(directory)) ||
                     Manifest::is_at(directory / "MANIFEST.removed");
  if (crawl || holds_remains(directory)) {
    if (auto own = refuse_others_config(directory); !own) return tl::unexpected(own.error());
    return crawl ? StateContents::kCrawl : StateContents::kRemains;
  }
  const auto others = strangers(directory, {output_directory(config), config.log.file});
  if (!others) return tl::unexpected(others.error());
  if (!others->empty()) return tl::unexpected(not_ours(directory, *others));
  return StateContents::kNothing;
}

}  // namespace trawl
