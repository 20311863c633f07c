#include "crawler/http/tls_sessions.h"

#include <functional>

namespace trawl {

void keep_tls_sessions(CURLSH* share) {
  if (share != nullptr) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

CURLSH* TlsSessions::share_for(std::string_view host) {
  thread_.check();
  CurlShare& share = shares_[std::hash<std::string_view>{}(host) % kShares];
  if (share == nullptr) {
    share.reset(curl_share_init());
    keep_tls_sessions(share.get());
  }
  return share.get();
}

}  // namespace trawl
