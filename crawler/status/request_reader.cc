#include "crawler/status/request_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

struct HeaderReader {
  ApiRequest& request;
  std::array<bool, 3> seen{};
};

MHD_Result read_header(void* cls, MHD_ValueKind, const char* name, const char* value) {
  HeaderReader& of_header = *static_cast<HeaderReader*>(cls);
  ApiRequest& request = of_header.request;
  const std::string key = to_lower(name);
  const std::string text = value == nullptr ? "" : value;
  if (key == "host") request.hosts.push_back(text);
  if (key == "origin") request.origins.push_back(text);
  if (key == "content-type") request.content_type = text;
  // With two of them, a proxy in front of us may have checked the other one.
  constexpr std::string_view kOnce[] = {"authorization", "x-trawl-token", "content-length"};
  const auto* const once = std::ranges::find(kOnce, key);
  if (once == std::end(kOnce)) return MHD_YES;
  bool& seen = of_header.seen[once - kOnce];
  if (seen) request.repeated_header = name;
  seen = true;
  if (key == "authorization") request.authorization = text;
  if (key == "x-trawl-token") request.token = text;
  return MHD_YES;
}

MHD_Result read_parameter(void* cls, MHD_ValueKind, const char* name, const char* value) {
  static_cast<ApiRequest*>(cls)->parameters.emplace_back(
      percent_decode(name), value == nullptr ? "" : percent_decode(value));
  return MHD_YES;
}

}  // namespace

void read_request(MHD_Connection* connection, ApiRequest& request) {
  HeaderReader headers{request};
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &read_header, &headers);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &read_parameter, &request);
}

bool may_drain(MHD_Connection* connection) {
  const auto header = [connection](const char* name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  };
  if (header(MHD_HTTP_HEADER_EXPECT) != nullptr) return false;
  if (header(MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr) return true;
  const char* length = header(MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (length == nullptr) return false;
  errno = 0;
  const unsigned long long announced = std::strtoull(length, nullptr, 10);
  return errno == 0 && announced > 0 && announced <= kMostDrained;
}

}  // namespace trawl
