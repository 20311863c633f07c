// RequestParser: cuts requests of Redis' protocol out of a stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trawl::resp {

struct RequestLimits {
  std::size_t argument = 1 << 20;   // bytes of one
  std::size_t arguments = 1 << 20;  // of a request
  std::size_t request = 64 << 20;   // bytes of all of it
  std::size_t inline_line = 64 << 10;
};

// The arguments of a request, the first of which is the command. Valid until the parser is used
// again or the bytes move.
class Request {
 public:
  struct Part {
    std::uint32_t at;
    std::uint32_t size;
  };
  Request() = default;
  Request(const char* base, std::span<const Part> parts) : base_(base), parts_(parts) {}

  std::size_t size() const noexcept { return parts_.size(); }
  std::string_view operator[](std::size_t i) const noexcept {
    return {base_ + parts_[i].at, parts_[i].size};
  }

 private:
  const char* base_ = nullptr;
  std::span<const Part> parts_;
};

// One for each connection. A request may arrive in any number of pieces: what was parsed is not
// parsed again.
class RequestParser {
 public:
  enum class Outcome : std::uint8_t { kRequest, kIncomplete, kHttp, kError };

  explicit RequestParser(const RequestLimits& limits) : limits_(limits) {}

  // Parses the request at the beginning of `bytes`. After kIncomplete, call it again with the same
  // bytes and more behind them. After kHttp and kError (a text in error()) the stream is of no use.
  Outcome parse(std::string_view bytes);
  // After kRequest. It may be empty: an empty line.
  Request request() const noexcept { return request_; }
  // The bytes of the request.
  std::size_t consumed() const noexcept { return at_; }
  // Called when the request's bytes are gone, before the next parse().
  void next() noexcept;
  // After kIncomplete: as many bytes as the request has at least.
  std::size_t wanted() const noexcept { return wanted_; }
  const std::string& error() const noexcept { return error_; }
  // Whether little is taken: from clients that have not given the password.
  void set_restricted(bool restricted) noexcept { restricted_ = restricted; }
  // Bytes of the list of arguments.
  std::size_t memory() const noexcept { return parts_.capacity() * sizeof(Request::Part); }

 private:
  Outcome parse_count(std::string_view bytes);
  Outcome parse_bulks(std::string_view bytes);
  Outcome parse_inline(std::string_view bytes);
  // Reads the number after the byte at at_; kRequest means done.
  Outcome parse_number(std::string_view bytes, std::string_view too_long, std::int64_t& number,
                       std::string_view invalid);
  Outcome fail(std::string text);

  RequestLimits limits_;
  bool restricted_ = false;
  std::size_t at_ = 0;
  std::size_t wanted_ = 0;
  std::int64_t left_ = kUnknown;  // arguments to come
  std::int64_t bulk_ = kUnknown;  // bytes of the one that comes
  std::vector<Request::Part> parts_;
  std::string words_;  // of an inline request, without its quotes
  Request request_;
  std::string error_;
  static constexpr std::int64_t kUnknown = -1;
};

}  // namespace trawl::resp
