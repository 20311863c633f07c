#include "crawler/http/cookie_jars.h"

#include <cstring>

namespace trawl {

CookieJar::CookieJar(std::shared_ptr<TableCharge> total, bool tls)
    : tls_(tls), total_(std::move(total)) {
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

void CookieJar::keep_small(CURL* easy) {
  if (bytes_ <= CookieJars::kMaxJarBytes) return;
  std::size_t left = 0;
  curl_slist* cookies = nullptr;
  curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &cookies);
  for (const curl_slist* cookie = cookies; cookie != nullptr; cookie = cookie->next)
    left += std::strlen(cookie->data);
  curl_slist_free_all(cookies);
  if (left > CookieJars::kMaxJarBytes / 2) {
    curl_easy_setopt(easy, CURLOPT_COOKIELIST, "ALL");
    left = 0;
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
  by_use_.push_front({.name = name, .jar = std::make_shared<CookieJar>(total_, tls)});
  jars_.emplace(name, by_use_.begin());
  return by_use_.front().jar;
}

}  // namespace trawl
