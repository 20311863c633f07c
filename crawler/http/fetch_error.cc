#include "crawler/http/fetch_error.h"

#include <array>

namespace trawl {

namespace {

constexpr std::array<std::string_view, kFetchErrors> kNames = {
    "name not resolved", "connection refused", "connect timeout",   "TLS failure",
    "proxy failure",     "first byte timeout", "timeout",           "too slow",
    "body too large",    "download too large", "headers too large", "bad response",
    "bad header",        "bad encoding",       "connection lost",   "address refused",
    "unwanted type",     "no memory",          "aborted",           "other failure",
};

}  // namespace

std::string_view to_string(FetchError error) noexcept {
  const auto index = static_cast<std::size_t>(error);
  return index < kNames.size() ? kNames[index] : "other failure";
}

}  // namespace trawl
