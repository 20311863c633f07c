// FloodGuard: ends TLS connections over which the server sends without end what is part of no
// response.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <curl/curl.h>

namespace trawl {

// libcurl reads from an HTTP/2 connection until there is something for the transfer that it reads
// for, or nothing more to read. Should frames that are of no interest keep coming, such as empty
// ones, it does not return, calls none of our functions, and looks at no clock. Only its TLS
// library tells of what it reads: each record.
class FloodGuard {
 public:
  // Records that a connection may bring in one call of libcurl, without a piece of a response and
  // with each. Handshakes have some ten, responses one or two a piece.
  static constexpr std::uint32_t kMostRecords = 500;
  static constexpr std::uint32_t kMostRecordsPerPiece = 5;

  // `flooded` is called from within libcurl with the connection, as tls_of() has it. The
  // connection's next read finds its end.
  explicit FloodGuard(std::function<void(const void* tls)> flooded)
      : flooded_(std::move(flooded)) {}
  FloodGuard(const FloodGuard&) = delete;
  FloodGuard& operator=(const FloodGuard&) = delete;

  // Guards the connections that the handle opens; they have to end before the guard. Does nothing
  // if libcurl's TLS library is not OpenSSL.
  void guard(CURL* easy);
  // The TLS connection of a transfer under way, or null.
  static const void* tls_of(CURL* easy);

  // libcurl is about to be called.
  void begin_call() noexcept {
    counts_.clear();
    pieces_ = 0;
  }
  // It gave us a header, or a part of a body.
  void add_piece() noexcept { ++pieces_; }
  // Another record came; true if it was one too many.
  bool add_record(const void* tls);

 private:
  struct Count {
    const void* tls;
    std::uint32_t records;
  };

  static CURLcode on_context(CURL* easy, void* context, void* self);

  const std::function<void(const void*)> flooded_;
  std::vector<Count> counts_;  // since libcurl was called, the last one mostly the one that grows
  std::uint32_t pieces_ = 0;   // likewise
};

}  // namespace trawl
