#include "crawler/http/cookie_jars.h"

#include <vector>

namespace trawl {

namespace {

// What libcurl has, a line each.
std::vector<std::string> cookies_of(CURL* easy) {
  curl_slist* cookies = nullptr;
  curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &cookies);
  std::vector<std::string> lines;
  for (const curl_slist* cookie = cookies; cookie != nullptr; cookie = cookie->next)
    lines.emplace_back(cookie->data);
  curl_slist_free_all(cookies);
  return lines;
}

// Returns their bytes.
std::size_t replace_cookies(CURL* easy, const std::vector<std::string>& lines) {
  curl_easy_setopt(easy, CURLOPT_COOKIELIST, "ALL");
  std::size_t bytes = 0;
  for (const std::string& line : lines) {
    curl_easy_setopt(easy, CURLOPT_COOKIELIST, line.c_str());
    bytes += line.size();
  }
  return bytes;
}

}  // namespace

CookieJar::CookieJar(std::shared_ptr<TableCharge> total, bool tls, std::string name,
                     std::shared_ptr<SiteCookies> site_cookies)
    : tls_(tls),
      total_(std::move(total)),
      name_(std::move(name)),
      site_cookies_(std::move(site_cookies)) {
  total_->take(overhead());
}

CookieJar::~CookieJar() {
  total_->give_back(bytes_ + overhead());
}

std::size_t CookieJar::overhead() const noexcept {
  return CookieJars::kBytesOfAnEmptyJar + (tls_ ? CookieJars::kBytesOfTls : 0);
}

void CookieJar::set_bytes(std::size_t bytes) noexcept {
  bytes > bytes_ ? total_->take(bytes - bytes_) : total_->give_back(bytes_ - bytes);
  bytes_ = bytes;
}

CURLSH* CookieJar::share() {
  if (share_ != nullptr) return share_.get();
  share_.reset(curl_share_init());
  if (share_ != nullptr) curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
  if (tls_) keep_tls_sessions(share_.get());
  return share_.get();
}

void CookieJar::update(CURL* easy) {
  if (site_cookies_ == nullptr) return;
  if (changed_) give_to_site(easy);  // by a response that has not ended
  const auto cookies = site_cookies_->find(name_, version_);
  if (cookies == nullptr) return;
  version_ = cookies->version;
  imported_ = cookies->imported;
  set_bytes(replace_cookies(easy, cookies->lines));
}

void CookieJar::keep(CURL* easy) {
  keep_small(easy);
  if (changed_) give_to_site(easy);
}

void CookieJar::give_to_site(CURL* easy) {
  changed_ = false;
  if (site_cookies_ != nullptr) version_ = site_cookies_->put(name_, version_, cookies_of(easy));
}

void CookieJar::keep_small(CURL* easy) {
  if (bytes_ <= CookieJars::kMaxJarBytes) return;
  std::size_t left = 0;
  for (const std::string& cookie : cookies_of(easy))
    left += cookie.size();
  if (left > CookieJars::kMaxJarBytes / 2) {
    left = replace_cookies(easy, site_cookies_ != nullptr ? site_cookies_->imported(name_)
                                                          : std::vector<std::string>());
    changed_ = true;
  }
  set_bytes(left);
}

std::shared_ptr<CookieJar> CookieJars::find(const std::string& name) {
  thread_.check();
  if (const auto known = jars_.find(name); known != jars_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, known->second);
    return by_use_.front().jar;
  }
  while (!by_use_.empty() && too_many()) {
    if (by_use_.back().jar->keeps_tls_sessions()) --jars_with_tls_;
    jars_.erase(by_use_.back().name);
    by_use_.pop_back();
  }
  const bool tls = jars_with_tls_ < kMaxJarsWithTls;
  if (tls) ++jars_with_tls_;
  by_use_.push_front(
      {.name = name, .jar = std::make_shared<CookieJar>(total_, tls, name, site_cookies_)});
  jars_.emplace(name, by_use_.begin());
  return by_use_.front().jar;
}

}  // namespace trawl
