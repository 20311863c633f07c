#include "crawler/run/crawl_cookies.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "crawler/log/room_log.h"

namespace trawl {

Result<CookiesFile> cookies_to_import(const CrawlConfig& config) {
  const auto& file = config.fetch.cookies_file;
  if (file.empty()) return CookiesFile();
  std::error_code error;
  if (!std::filesystem::exists(file, error) &&
      std::filesystem::exists(SiteCookies::path(config.crawl.state_dir), error)) {
    room_log(LogRoom::kHttp)
        .warn("fetch.cookies_file: {} is gone; the cookies of earlier runs are used",
              file.string());
    return CookiesFile();
  }
  auto read = read_cookies_file(file);
  if (read) return *std::move(read);
  const FileErrors& errors = read.error();
  std::string message = errors.listed.front().to_string();
  if (const std::size_t more = errors.listed.size() - 1 + errors.unlisted; more > 0)
    message += fmt::format(" (and {} more errors: trawl check-config lists them)", more);
  return tl::unexpected(Error{ErrorCode::kInvalidArgument, std::move(message)});
}

Result<void> begin_cookies(SiteCookies& cookies, const CrawlConfig& config,
                           const CookiesFile& imported) {
  const auto& file = config.fetch.cookies_file;
  const auto& state = config.crawl.state_dir;
  std::error_code none, gone;
  const auto stored_at = std::filesystem::last_write_time(SiteCookies::path(state), none);
  const auto given_at = std::filesystem::last_write_time(file, gone);
  const auto stored = none ? SiteCookies::Stored() : SiteCookies::read(state);
  if (!stored) return tl::unexpected(stored.error());
  if (stored->damaged > 0) {
    room_log(LogRoom::kHttp)
        .warn("{}: {} damaged lines are left out; some sites may not know this crawl any more",
              SiteCookies::path(state).string(), stored->damaged);
  }
  cookies.add(*stored);
  // Sessions are secrets, as the cookies of the user's file are.
  CookiesFile sessions;
  for (const LoginText& login : config.fetch.logins)
    sessions.sites.push_back({.site = std::string(cookie_site(login.host)), .lines = {}});
  cookies.import(sessions);
  cookies.import(imported);
  if (!none && !gone && given_at <= stored_at) cookies.add(*stored);
  if (imported.cookies == 0 && imported.expired == 0) return {};
  room_log(LogRoom::kHttp)
      .info("{}: {} cookies of {} sites{}", file.string(), imported.cookies, imported.sites.size(),
            imported.expired > 0 ? fmt::format("; {} have expired", imported.expired) : "");
  return {};
}

}  // namespace trawl
