// AccessRules: which requests over TCP the status server answers.
//
// The token is in a file of mode 0600. The host checks are for browsers: a page of another site can
// make a browser send requests here (it then has that site's Origin), or name its own host with the
// address of this machine (DNS rebinding: the request then has that site's Host).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/listen_address.h"
#include "crawler/status/api_reply.h"
#include "crawler/status/api_request.h"

namespace trawl {

class AccessRules {
 public:
  // `token_to_read`: requests that change nothing need the token, too. `names`: those of this
  // machine, in lower case; for an address of the loopback they do not matter.
  AccessRules(const ListenAddress& address, std::string token, bool token_to_read,
              std::vector<std::string> names);
  AccessRules(const ListenAddress& address, std::string token, bool token_to_read);

  // What a request may do without further checks.
  enum class Needs {
    kNothing,  // /healthz
    kReading,
    kChanging,
  };
  // A reply if the request is refused.
  std::optional<ApiReply> refuse(const ApiRequest& request, Needs needs) const;

  const std::string& token() const { return token_; }

 private:
  bool is_our_host(std::string_view host) const;
  bool has_token(const ApiRequest& request, bool in_query) const;

  const ListenAddress address_;
  const std::string token_;
  const bool token_to_read_;
  const std::vector<std::string> names_;  // of this machine
};

}  // namespace trawl
