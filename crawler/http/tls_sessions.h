// TlsSessions: TLS sessions shared by the requests of one client, so that a further connection to a
// host needs no full handshake.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <string_view>

#include <curl/curl.h>

#include "base/one_thread.h"

namespace trawl {

struct CurlShareDelete {
  // When no handle uses it any more.
  void operator()(CURLSH* share) const noexcept {
    [[maybe_unused]] const CURLSHcode code = curl_share_cleanup(share);
    assert(code == CURLSHE_OK);
  }
};
using CurlShare = std::unique_ptr<CURLSH, CurlShareDelete>;

// Makes libcurl keep TLS sessions of handles in their share: at most eight, of the hosts connected
// to last.
void keep_tls_sessions(CURLSH* share);

// For one thread. No handle may use its shares when it is destroyed.
class TlsSessions {
 public:
  // Hosts are spread over several shares, since each keeps few sessions.
  static constexpr std::size_t kShares = 512;

  // The share for requests to `host`; created at the first call, null if memory ran out.
  CURLSH* share_for(std::string_view host);

 private:
  std::array<CurlShare, kShares> shares_;
  OneThread thread_;
};

}  // namespace trawl
