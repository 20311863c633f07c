#include "crawler/decide/seed_redirects.h"

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
    : settings_(std::move(settings)) {
  for (const ScopeType type : {ScopeType::kPage, ScopeType::kPrefix, ScopeType::kHost,
                               ScopeType::kDomain, ScopeType::kAny})
    members_.emplace_back(type, canonicalizer);
}

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
  // release: pairs with the acquire in covers().
  redirects->any_.store(redirects->followed_ > 0, std::memory_order_release);
  return redirects;
}

Result<void> SeedRedirects::begin(const std::filesystem::path& state_dir, bool resumed) {
  const MutexLock lock(mutex_);
  directory_ = state_dir;
  if (resumed) return {};
  found_.clear();
  for (SeedMembers& each : members_)
    each.clear();
  followed_ = 0;
  any_.store(false, std::memory_order_relaxed);
  std::error_code failure;
  std::filesystem::remove(path(state_dir), failure);
  if (!failure) return {};
  return tl::unexpected(system_error(failure.value(), "cannot remove " + path(state_dir).string()));
}

Result<void> SeedRedirects::add(const Url& seed, const Url& target) {
  const MutexLock lock(mutex_);
  if (is_covered(target)) return {};
  SeedRedirect redirect{std::string(seed.href_without_fragment()),
                        std::string(target.href_without_fragment())};
  redirect.followed = followed_ < kMost;
  if (!redirect.followed && ++not_followed_ > kMostNamed) return {};
  found_.push_back(std::move(redirect));
  if (!found_.back().followed) return {};
  if (auto written = write(); !written) return written;
  members_of(seed).add({target});
  ++followed_;
  // release: pairs with the acquire in covers().
  any_.store(true, std::memory_order_release);
  return {};
}

bool SeedRedirects::is_covered(const Url& url) const {
  for (const SeedMembers& each : members_) {
    if (!each.empty() && each.covers(url)) return true;
  }
  return false;
}

SeedMembers& SeedRedirects::members_of(const Url& seed) {
  return members_[static_cast<std::size_t>(settings_->type_of(seed))];
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

bool SeedRedirects::covers(const Url& url) const {
  // acquire: pairs with the release where a target is added.
  if (!any_.load(std::memory_order_acquire)) return false;
  const MutexLock lock(mutex_);
  return is_covered(url);
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
