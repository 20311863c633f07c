#include "crawler/http/site_cookies.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "base/file_io.h"
#include "base/text_file.h"

namespace trawl {

namespace {

constexpr std::size_t kBytesOfASite = 256;
constexpr std::size_t kMostStored = 64u << 20;
constexpr std::string_view kHead =
    "# Netscape HTTP Cookie File\n"
    "# Written by trawl: cookies of this crawl. They may be secrets.\n";

std::size_t size_of(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  for (const std::string& line : lines)
    bytes += sizeof(std::string) + line.size();
  return bytes;
}

// A comment for other programs: the cookies of this site are the user's.
constexpr std::string_view kImported = "# imported: ";

// The sites that are named so.
std::set<std::string, std::less<>> imported_sites(std::string_view text) {
  std::set<std::string, std::less<>> sites;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kImported)) sites.emplace(line.substr(kImported.size()));
  }
  return sites;
}

// `lines` with those of `others` that are other cookies.
std::vector<std::string> merged(std::vector<std::string> lines,
                                const std::vector<std::string>& others) {
  std::vector<std::string> keys;
  for (const std::string& line : lines)
    keys.push_back(cookie_key(line));
  std::ranges::sort(keys);
  for (const std::string& other : others) {
    if (!std::ranges::binary_search(keys, cookie_key(other))) lines.push_back(other);
  }
  return lines;
}

}  // namespace

SiteCookies::SiteCookies(std::shared_ptr<BodyMemoryBudget> budget) : charge_(std::move(budget)) {}

void SiteCookies::import(const CookiesFile& file) {
  const MutexLock lock(mutex_);
  for (const CookiesOfSite& site : file.sites) {
    merge(site, true);
    place_of(site.site)->imported = site.lines;
  }
}

std::vector<std::string> SiteCookies::imported(const std::string& site) {
  const MutexLock lock(mutex_);
  const auto found = sites_.find(site);
  return found == sites_.end() ? std::vector<std::string>() : found->second->imported;
}

std::shared_ptr<const SiteCookies::Cookies> SiteCookies::find(const std::string& site,
                                                              std::uint64_t known) {
  const MutexLock lock(mutex_);
  const auto found = sites_.find(site);
  if (found == sites_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  const auto& cookies = found->second->cookies;
  return cookies->version == known ? nullptr : cookies;
}

std::uint64_t SiteCookies::put(const std::string& site, std::uint64_t base,
                               std::vector<std::string> lines) {
  const MutexLock lock(mutex_);
  const Place place = place_of(site);
  const Cookies& before = *place->cookies;
  if (before.version != base) lines = merged(std::move(lines), before.lines);
  set(place, std::move(lines), before.imported);
  const std::uint64_t version = place->cookies->version;
  keep_small();
  return version;
}

SiteCookies::Place SiteCookies::place_of(const std::string& site) {
  const auto found = sites_.find(site);
  if (found != sites_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second;
  }
  by_use_.push_front({.name = site, .cookies = std::make_shared<const Cookies>()});
  sites_.emplace(site, by_use_.begin());
  return by_use_.begin();
}

void SiteCookies::set(Place place, std::vector<std::string> lines, bool imported) {
  Site& site = *place;
  charge_.give_back(site.bytes);
  if (!site.cookies->imported) bytes_ -= site.bytes;
  site.bytes = kBytesOfASite + size_of(lines);
  charge_.take(site.bytes);
  if (!imported) bytes_ += site.bytes;
  site.cookies = std::make_shared<const Cookies>(
      Cookies{.version = ++version_, .imported = imported, .lines = std::move(lines)});
}

void SiteCookies::merge(const CookiesOfSite& added, bool imported) {
  const Place place = place_of(added.site);
  const Cookies& before = *place->cookies;
  set(place, merged(added.lines, before.lines), imported || before.imported);
}

// What the user gave is never forgotten.
void SiteCookies::keep_small() {
  for (auto place = by_use_.end(); bytes_ > kMaxBytes && place != by_use_.begin();) {
    --place;
    if (place->cookies->imported) continue;
    charge_.give_back(place->bytes);
    bytes_ -= place->bytes;
    sites_.erase(place->name);
    place = by_use_.erase(place);
  }
}

SiteCookies::Stored SiteCookies::read(const std::filesystem::path& state_dir) {
  const std::filesystem::path file = path(state_dir);
  const auto text = read_text_file(file, kMostStored);
  if (!text) return {};
  return {.file = read_what_is_right(file, *text), .secret = imported_sites(*text)};
}

void SiteCookies::add(const Stored& stored) {
  const MutexLock lock(mutex_);
  for (const CookiesOfSite& site : stored.file.sites)
    merge(site, stored.secret.contains(site.site));
  saved_ = version_;
}

Result<void> SiteCookies::save(const std::filesystem::path& state_dir) {
  std::string text(kHead);
  std::uint64_t version = 0;
  {
    const MutexLock lock(mutex_);
    if (version_ == saved_) return {};
    version = version_;
    for (const Site& site : by_use_) {
      if (site.cookies->imported) text.append(kImported).append(site.name).append("\n");
      for (const std::string& line : site.cookies->lines)
        text.append(line).append("\n");
    }
  }
  if (auto written = replace_file(path(state_dir).string(), text, 0600); !written) return written;
  const MutexLock lock(mutex_);
  saved_ = version;
  return {};
}

}  // namespace trawl
