#include "crawler/http/site_cookies.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file_io.h"
#include "base/file_line_reader.h"

namespace trawl {

namespace {

constexpr std::size_t kBytesOfASite = 384;
constexpr std::size_t kLongestStored = 1u << 20;  // of a line
constexpr std::string_view kHead =
    "# Netscape HTTP Cookie File\n"
    "# Written by trawl: cookies of this crawl. They may be secrets.\n";

std::size_t size_of(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  for (const std::string& line : lines)
    bytes += sizeof(std::string) + line.size();
  return bytes;
}

// Comments for other programs: the cookies after it are of this site; they are secrets.
constexpr std::string_view kSite = "# site: ";
constexpr std::string_view kImported = "# imported: ";

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
    // They stay when `cookies` become others, and count from now on.
    Site& changed = *place_of(site.site);
    if (changed.imported != nullptr) charge_.give_back(size_of(changed.imported->lines));
    charge_.take(size_of(site.lines));
    changed.imported = changed.cookies;
    if (changed.cookies->lines.size() != site.lines.size())
      changed.imported = std::make_shared<const Cookies>(Cookies{.lines = site.lines});
  }
}

std::vector<std::string> SiteCookies::imported(const std::string& site) {
  const MutexLock lock(mutex_);
  const auto found = sites_.find(site);
  const bool some = found != sites_.end() && found->second->imported != nullptr;
  return some ? found->second->imported->lines : std::vector<std::string>();
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

// Servers and libcurl made these cookies, so that the limits of the user's file are not theirs.
Result<SiteCookies::Stored> SiteCookies::read(const std::filesystem::path& state_dir,
                                              std::chrono::system_clock::time_point now) {
  const auto file = InputFile::open(path(state_dir).string());
  if (!file) return tl::unexpected(file.error());
  const std::int64_t expiry = std::chrono::system_clock::to_time_t(now);
  Stored stored;
  FileLineReader lines(*file, kLongestStored);
  while (true) {
    const auto more = lines.next();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return stored;
    const std::string_view line = lines.line();
    const bool imported = line.starts_with(kImported);
    if (imported || line.starts_with(kSite)) {
      const std::string_view name = line.substr(imported ? kImported.size() : kSite.size());
      stored.sites.push_back({{std::string(name), {}}, imported});
      continue;
    }
    if (!lines.too_long() && is_cookie_comment(line)) continue;
    const auto expires = cookie_expiry(line);
    if (!expires || stored.sites.empty()) {
      ++stored.damaged;
    } else if (*expires == 0 || *expires > expiry) {
      stored.sites.back().cookies.lines.emplace_back(line);
    }
  }
}

void SiteCookies::add(const Stored& stored) {
  const MutexLock lock(mutex_);
  for (auto site = stored.sites.rbegin(); site != stored.sites.rend(); ++site)
    merge(site->cookies, site->imported);
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
      text.append(site.cookies->imported ? kImported : kSite).append(site.name).append("\n");
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
