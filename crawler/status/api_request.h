// ApiRequest: a request to the status server, as far as its handlers need it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trawl {

struct ApiRequest {
  std::string method;
  std::string path;                                             // as sent, without the query
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded
  std::vector<std::string> hosts;                               // all headers Host
  std::vector<std::string> origins;                             // all headers Origin
  // The last ones, of which there may be only one: see repeated_header.
  std::string authorization;
  std::string token;                 // X-Trawl-Token
  std::string repeated_header = {};  // one that must not be repeated, and is
  std::string content_type;
  std::string body;
  bool control_socket = false;  // sent through the control socket, not over TCP

  std::optional<std::string_view> parameter(std::string_view name) const {
    const auto found =
        std::ranges::find(parameters, name, &std::pair<std::string, std::string>::first);
    if (found == parameters.end()) return std::nullopt;
    return found->second;
  }
};

}  // namespace trawl
