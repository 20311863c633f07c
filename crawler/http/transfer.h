// Transfer: one request and its response on a libcurl easy handle.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

#include "crawler/http/http_client.h"

namespace trawl {

struct CurlEasyDelete {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, CurlEasyDelete>;

// Its address is given to libcurl: stays where it is.
class Transfer {
 public:
  // `easy` is fresh or reset. When libcurl sends the request, the transfer adds itself to
  // `sending`.
  Transfer(CurlEasy easy, const HttpOptions& options, const HttpRequest& request,
           HttpClient::Done done, std::vector<Transfer*>& sending);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* easy() const noexcept { return easy_.get(); }
  void set_sent(std::chrono::steady_clock::time_point now) { sent_ = now; }
  // What came of it, once libcurl is done with it.
  HttpResponse finish(CURLcode code);
  HttpClient::Done take_done() { return std::move(done_); }
  CurlEasy take_easy() { return std::move(easy_); }

 private:
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static int on_request(void* self, char* remote_ip, char* local_ip, int remote_port,
                        int local_port);
  static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);

  std::size_t take_body(std::string_view bytes);
  std::size_t take_header(std::string_view line);
  std::chrono::milliseconds time_of(CURLINFO what) const;

  CurlEasy easy_;
  HttpClient::Done done_;
  std::vector<Transfer*>& sending_;
  HttpResponse response_;
  std::optional<std::chrono::steady_clock::time_point> sent_;
  std::uint64_t max_body_;
  bool truncate_body_;
  bool truncated_ = false;
  bool sent_before_ = false;
  bool allow_private_addresses_;
  bool address_refused_ = false;
  std::size_t header_bytes_ = 0;
  std::string refusal_;  // why we ourselves ended the transfer
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace trawl
