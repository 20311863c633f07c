// What the tests of the cache of robots.txt share.
#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <utility>

#include "trawl/url.h"

#include "crawler/http/http_client.h"
#include "crawler/run/robots_cache.h"

namespace trawl {

inline void PrintTo(RobotsAnswer::Action action, std::ostream* out) {
  constexpr const char* kNames[] = {"kObey", "kFetch", "kWait", "kFail"};
  *out << kNames[static_cast<int>(action)];
}

namespace test {

inline const Url& some_url() {
  static const Url url = *Url::parse("http://site.example/page");
  return url;
}

inline std::string host(int i) {
  return "http://host" + std::to_string(i);
}

inline HttpResponse response(int status, std::string body = "User-agent: *\nDisallow: /\n") {
  HttpResponse made;
  made.status = status;
  made.body = std::move(body);
  return made;
}
inline HttpResponse rules(std::string cache_control = "") {
  HttpResponse made = response(200);
  made.cache_control = std::move(cache_control);
  return made;
}
inline HttpResponse redirect(std::string location) {
  HttpResponse made = response(302);
  made.location = std::move(location);
  return made;
}
inline HttpResponse failure(std::chrono::seconds retry_after = std::chrono::seconds(0)) {
  HttpResponse made = response(503);
  made.retry_after = retry_after;
  return made;
}

}  // namespace test
}  // namespace trawl
