// Pages to write into WARC files in tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "crawler/warc/warc_builder.h"

namespace trawl::test {

inline std::chrono::system_clock::time_point test_time(std::int64_t offset_us = 0) {
  // 2026-11-21T20:31:09.123456Z
  return std::chrono::system_clock::time_point(
      std::chrono::microseconds(1'795'293'069'123'456 + offset_us));
}

// An exchange and the texts it looks at.
struct Page {
  explicit Page(std::string url_, std::string body_ = "<p>hello",
                std::string fields = "Content-Type: text/html; charset=utf-8\r\n")
      : url(std::move(url_)), body(std::move(body_)) {
    request = "GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: test\r\n\r\n";
    response = "HTTP/1.1 200 OK\r\n" + fields + "Server: x\r\n\r\n";
  }
  WarcExchange exchange() const {
    WarcExchange exchange;
    exchange.url = url;
    exchange.ip = "127.0.0.1";
    exchange.request_head = request;
    exchange.response_head = response;
    exchange.payload = body;
    exchange.status = 200;
    exchange.protocol = "http/1.1";
    exchange.date = test_time();
    exchange.via = "http://example.com/from";
    exchange.hops = 2;
    exchange.elapsed = std::chrono::milliseconds(17);
    return exchange;
  }
  std::string url, body, request, response;
};

}  // namespace trawl::test
