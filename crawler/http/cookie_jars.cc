#include "crawler/http/cookie_jars.h"

#include <cstring>

namespace trawl {

CookieJar::~CookieJar() {
  if (share_ != nullptr) curl_share_cleanup(share_);
}

CURLSH* CookieJar::share() {
  if (share_ != nullptr) return share_;
  share_ = curl_share_init();
  if (share_ != nullptr) curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
  return share_;
}

void CookieJar::keep_small(CURL* easy) {
  if (bytes_ <= CookieJars::kMaxJarBytes) return;
  bytes_ = 0;
  curl_slist* cookies = nullptr;
  curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &cookies);
  for (const curl_slist* cookie = cookies; cookie != nullptr; cookie = cookie->next)
    bytes_ += std::strlen(cookie->data);
  curl_slist_free_all(cookies);
  if (bytes_ <= CookieJars::kMaxJarBytes / 2) return;
  curl_easy_setopt(easy, CURLOPT_COOKIELIST, "ALL");
  bytes_ = 0;
}

std::shared_ptr<CookieJar> CookieJars::find(const std::string& name) {
  if (const auto known = jars_.find(name); known != jars_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, known->second);
    return by_use_.front().jar;
  }
  if (jars_.size() >= max_jars_) {
    jars_.erase(by_use_.back().name);
    by_use_.pop_back();
  }
  by_use_.push_front({.name = name, .jar = std::make_shared<CookieJar>()});
  jars_.emplace(name, by_use_.begin());
  return by_use_.front().jar;
}

}  // namespace trawl
