// What the tests of HttpClient share.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crawler/http/http_client.h"
#include "unanswering_ports.h"

namespace trawl::test {

inline HttpOptions quick() {
  return {.user_agent = "testbot/1.0 (+http://bot.example/)",
          .timeout = std::chrono::milliseconds(60'000),
          .connections = 8,
          .allow_private_addresses = true};
}
inline HttpOptions impatient() {
  HttpOptions options = quick();
  options.timeout = std::chrono::milliseconds(200);
  return options;
}

inline std::unique_ptr<HttpClient> client_of(const HttpOptions& options) {
  auto client = HttpClient::create(options);
  if (!client) {
    ADD_FAILURE() << client.error().message;
    std::abort();
  }
  return std::move(*client);
}

inline void run_all(HttpClient& client) {
  while (client.active() > 0)
    client.run(std::chrono::milliseconds(1000));
}

inline HttpResponse fetch(const HttpRequest& request, const HttpOptions& options = quick()) {
  const auto client = client_of(options);
  HttpResponse got;
  int calls = 0;
  client->start(request, [&](HttpResponse response) {
    got = std::move(response);
    ++calls;
  });
  EXPECT_EQ(calls, 0) << "done is called from run() only";
  run_all(*client);
  EXPECT_EQ(calls, 1);
  return got;
}
inline HttpResponse get(const std::string& url, const HttpOptions& options = quick()) {
  return fetch(HttpRequest{.url = url, .max_body = 1 << 20}, options);
}

inline constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

}  // namespace trawl::test
