// TlsSessions: TLS sessions that the requests of one client have in common, so that a connection to
// a host that was there before needs no full handshake.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include <curl/curl.h>

#include "base/one_thread.h"

namespace trawl {

struct CurlShareDelete {
  void operator()(CURLSH* share) const noexcept { curl_share_cleanup(share); }
};
using CurlShare = std::unique_ptr<CURLSH, CurlShareDelete>;

// Has libcurl keep the sessions of the handles that use the share in it: at most eight, those of
// the hosts that were connected to last.
void keep_tls_sessions(CURLSH* share);

// Of one thread. No handle must use its shares when it ends.
class TlsSessions {
 public:
  // Hosts are spread over several shares, as each keeps so few sessions.
  static constexpr std::size_t kShares = 16;

  // The share for requests to that host; made when first asked for, null if there is no memory.
  CURLSH* share_for(std::string_view host);

 private:
  std::array<CurlShare, kShares> shares_;
  OneThread thread_;
};

}  // namespace trawl
