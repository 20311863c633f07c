#include "crawler/config/crawl_paths.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/ascii.h"

namespace trawl {

namespace {

// A prefix may have 100 bytes in all.
constexpr std::size_t kMostOfMember = 60;
constexpr std::size_t kMostOfPrefix = 100;

bool is_of_file_name(char c) {
  return is_ascii_alphanumeric(c) || c == '.' || c == '_' || c == '-';
}

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
std::uint32_t number_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::string member_in_file_name(std::string_view member, std::size_t most) {
  if (member.size() <= most && std::ranges::all_of(member, is_of_file_name))
    return std::string(member);
  std::string name;
  for (const char c : member) {
    if (is_of_file_name(c))
      name += c;
    else if (!name.ends_with('-'))
      name += '-';
  }
  const std::string number = fmt::format("-{:08x}", number_of(member));
  // The end of a path says more than its beginning.
  const std::size_t room = most - number.size();
  if (name.size() > room) name.erase(0, name.size() - room);
  return name + number;
}

}  // namespace

std::string warc_prefix(const CrawlConfig& config) {
  const std::string& prefix = config.output.warc_prefix;
  if (!config.cluster.enabled()) return prefix;
  const std::size_t room = kMostOfPrefix - std::min(prefix.size(), kMostOfPrefix - 20) - 1;
  return fmt::format("{}-{}", prefix.substr(0, kMostOfPrefix - 20),
                     member_in_file_name(cluster_member(config.cluster, config.crawl.state_dir),
                                         std::min(room, kMostOfMember)));
}

std::filesystem::path output_directory(const CrawlConfig& config) {
  return config.output.directory.empty() ? config.crawl.state_dir / "output"
                                         : config.output.directory;
}

std::filesystem::path saved_config_path(const std::filesystem::path& state_dir) {
  return state_dir / "crawl.toml";
}

}  // namespace trawl
