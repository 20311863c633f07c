#include "crawler/decide/seed_redirects.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::string_view kFirstLine = "seed redirects 1\n";
// Two URLs of at most 64 KiB for each.
constexpr std::size_t kMaxFileBytes = SeedRedirects::kMost * ((std::size_t{128} << 10) + 2);
// Redirects that are not followed, by name.
constexpr std::uint64_t kMostNamed = 10;

}  // namespace

SeedRedirects::SeedRedirects(std::shared_ptr<const SeedSettings> settings,
                             const Canonicalizer& canonicalizer)
    : canonicalizer_(canonicalizer), settings_(std::move(settings)) {}

Result<std::shared_ptr<SeedRedirects>> SeedRedirects::read(
    const std::filesystem::path& state_dir, std::shared_ptr<const SeedSettings> settings,
    const Canonicalizer& canonicalizer) {
  std::shared_ptr<SeedRedirects> redirects(new SeedRedirects(std::move(settings), canonicalizer));
  const std::string file = path(state_dir).string();
  std::error_code failure;
  if (state_dir.empty() || !std::filesystem::exists(file, failure)) return redirects;
  const auto text = read_file(file, kMaxFileBytes);
  if (!text) return tl::unexpected(text.error());
  if (!text->starts_with(kFirstLine)) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("{} is not a list of redirects of seeds: delete the file, and fetch the "
                    "seeds again with --fresh",
                    file));
  }
  const MutexLock lock(redirects->mutex_);
  std::size_t begin = kFirstLine.size();
  for (std::size_t end; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text->substr(begin, end - begin);
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const auto seed = Url::parse(line.substr(0, tab));
    auto target = Url::parse(line.substr(tab + 1));
    if (!seed || !target) continue;
    redirects->found_.push_back({line.substr(0, tab), line.substr(tab + 1)});
    redirects->members_of(*seed).add({*std::move(target)});
    ++redirects->followed_;
  }
  // release: pairs with the acquire in place_of().
  redirects->any_.store(redirects->followed_ > 0, std::memory_order_release);
  return redirects;
}

Result<void> SeedRedirects::begin(const std::filesystem::path& state_dir, bool resumed) {
  const MutexLock lock(mutex_);
  directory_ = state_dir;
  if (resumed) return {};
  found_.clear();
  groups_.clear();
  followed_ = 0;
  any_.store(false, std::memory_order_relaxed);
  std::error_code failure;
  std::filesystem::remove(path(state_dir), failure);
  if (!failure) return {};
  return tl::unexpected(system_error(failure.value(), "cannot remove " + path(state_dir).string()));
}

Result<void> SeedRedirects::add(const Url& seed, const Url& target) {
  const MutexLock lock(mutex_);
  if (is_covered(target, seed)) return {};
  SeedRedirect redirect{std::string(seed.href_without_fragment()),
                        std::string(target.href_without_fragment())};
  redirect.followed = followed_ < kMost;
  if (!redirect.followed && ++not_followed_ > kMostNamed) return {};
  found_.push_back(std::move(redirect));
  if (!found_.back().followed) return {};
  if (auto written = write(); !written) return written;
  members_of(seed).add({target});
  ++followed_;
  // release: pairs with the acquire in place_of().
  any_.store(true, std::memory_order_release);
  return {};
}

bool SeedRedirects::is_covered(const Url& url, const Url& seed) const {
  const auto depth = settings_->depth_of(seed);
  return std::ranges::any_of(groups_, [&](const Group& each) {
    const bool as_deep = !each.depth || (depth && *each.depth >= *depth);
    return as_deep && !each.members.empty() && each.members.covers(url);
  });
}

SeedSettings::Place SeedRedirects::find_place(const Url& url, std::uint32_t depth) const {
  SeedSettings::Place place = SeedSettings::Place::kOutside;
  for (const Group& each : groups_) {
    if (each.members.empty() || !each.members.covers(url)) continue;
    if (!each.depth || depth <= *each.depth) return SeedSettings::Place::kInside;
    place = SeedSettings::Place::kTooDeep;
  }
  return place;
}

SeedMembers& SeedRedirects::members_of(const Url& seed) {
  const ScopeType type = settings_->type_of(seed);
  const auto depth = settings_->depth_of(seed);
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& each) { return each.type == type && each.depth == depth; });
  if (found != groups_.end()) return found->members;
  return groups_.emplace_back(Group{type, depth, SeedMembers(type, canonicalizer_)}).members;
}

void SeedRedirects::set_settings(std::shared_ptr<const SeedSettings> settings) {
  const MutexLock lock(mutex_);
  settings_ = std::move(settings);
  groups_.clear();
  for (const SeedRedirect& each : found_) {
    const auto seed = Url::parse(each.seed);
    auto target = Url::parse(each.target);
    if (each.followed && seed && target) members_of(*seed).add({*std::move(target)});
  }
}

// The whole file, since a crash must not leave a line in part.
Result<void> SeedRedirects::write() const {
  if (directory_.empty()) return {};
  std::string text(kFirstLine);
  for (const SeedRedirect& redirect : found_) {
    if (redirect.followed) text += fmt::format("{}\t{}\n", redirect.seed, redirect.target);
  }
  constexpr mode_t kOwnerAlone = 0600;  // a URL may hold a password
  return replace_file(path(directory_).string(), text, kOwnerAlone);
}

SeedSettings::Place SeedRedirects::place_of(const Url& url, std::uint32_t depth) const {
  // acquire: pairs with the release where a target is added.
  if (!any_.load(std::memory_order_acquire)) return SeedSettings::Place::kOutside;
  const MutexLock lock(mutex_);
  return find_place(url, depth);
}

std::vector<SeedRedirect> SeedRedirects::found() const {
  const MutexLock lock(mutex_);
  return found_;
}

std::uint64_t SeedRedirects::not_followed() const {
  const MutexLock lock(mutex_);
  return not_followed_;
}

}  // namespace trawl
