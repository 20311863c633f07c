// FloodGuard: ends TLS connections on which the server sends endless data that belongs to no
// response.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <curl/curl.h>

namespace trawl {

// libcurl reads from an HTTP/2 connection until there is data for the current transfer, or nothing
// more to read. While useless frames, such as empty ones, keep coming, it does not return, call a
// callback or check a timeout. Only its TLS library reports each record that it reads.
class FloodGuard {
 public:
  // How many records a connection may receive in one call of libcurl, and in addition per piece of
  // a response. A handshake has about ten, a response one or two per piece.
  static constexpr std::uint32_t kMostRecords = 500;
  static constexpr std::uint32_t kMostRecordsPerPiece = 5;

  // `flooded` is called from within libcurl with the connection, as returned by tls_of(). The
  // connection's next read then returns its end.
  explicit FloodGuard(std::function<void(const void* tls)> flooded)
      : flooded_(std::move(flooded)) {}
  FloodGuard(const FloodGuard&) = delete;
  FloodGuard& operator=(const FloodGuard&) = delete;

  // Guards the connections that the handle opens; they must end before the guard. Does nothing if
  // libcurl's TLS library is not OpenSSL.
  void guard(CURL* easy);
  // The TLS connection of a transfer in progress, or null.
  static const void* tls_of(CURL* easy);

  // Call before calling libcurl.
  void begin_call() noexcept {
    counts_.clear();
    pieces_ = 0;
  }
  // Call when libcurl delivers a header or a part of a body.
  void add_piece() noexcept { ++pieces_; }
  // Counts a record; returns true if it is one too many.
  bool add_record(const void* tls);

 private:
  struct Count {
    const void* tls;
    std::uint32_t records;
  };

  static CURLcode on_context(CURL* easy, void* context, void* self);

  const std::function<void(const void*)> flooded_;
  std::vector<Count> counts_;  // since begin_call(); usually the last one grows
  std::uint32_t pieces_ = 0;   // likewise
};

}  // namespace trawl
