#include "crawler/resp/request_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/safe_text.h"
#include "crawler/resp/inline_words.h"

namespace trawl::resp {

namespace {

constexpr std::ptrdiff_t kMostDigits = 18;
constexpr std::size_t kFewArguments = 10;
constexpr std::size_t kShortArgument = 16 << 10;

bool begins_http(std::string_view word) {
  constexpr std::array<std::string_view, 10> kMethods{
      "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI"};
  return (word.size() > 1 && word.back() == ':') ||
         std::ranges::find(kMethods, word) != kMethods.end();
}

}  // namespace

void RequestParser::next() noexcept {
  constexpr std::size_t kKept = 4096;  // arguments whose memory stays with an idle connection
  if (parts_.capacity() > kKept) {
    parts_ = std::vector<Request::Part>();  // "= {}" would keep its memory
  } else {
    parts_.clear();
  }
  at_ = 0;
  wanted_ = 0;
  left_ = kUnknown;
  bulk_ = kUnknown;
  request_ = {};
}

RequestParser::Outcome RequestParser::fail(std::string text) {
  error_ = "ERR Protocol error: " + std::move(text);
  return Outcome::kError;
}

RequestParser::Outcome RequestParser::parse(std::string_view bytes) {
  if (left_ == kUnknown) {
    if (bytes.empty()) return Outcome::kIncomplete;
    if (bytes.front() != '*') return parse_inline(bytes);
    if (const Outcome counted = parse_count(bytes); counted != Outcome::kRequest) return counted;
  }
  return parse_bulks(bytes);
}

RequestParser::Outcome RequestParser::parse_number(std::string_view bytes,
                                                   std::string_view too_long, std::int64_t& number,
                                                   std::string_view invalid) {
  const char* const begin = bytes.data() + at_ + 1;
  const char* const end = bytes.data() + bytes.size();
  const char* read = begin;
  const bool negative = read < end && *read == '-';
  if (negative) ++read;
  // As many digits as fit into the number.
  std::int64_t value = 0;
  const char* const first = read;
  for (; read < end && *read >= '0' && *read <= '9' && read - first < kMostDigits; ++read)
    value = 10 * value + (*read - '0');
  if (end - read < 2 && (read == end || *read == '\r')) {
    wanted_ = bytes.size() + 1;
    return Outcome::kIncomplete;
  }
  if (*read >= '0' && *read <= '9') return fail(std::string(too_long));
  if (read == first || read[0] != '\r' || read[1] != '\n') return fail(std::string(invalid));
  number = negative ? -value : value;
  at_ += static_cast<std::size_t>(read + 2 - begin) + 1;
  return Outcome::kRequest;
}

RequestParser::Outcome RequestParser::parse_count(std::string_view bytes) {
  constexpr std::string_view kInvalid = "invalid multibulk length";
  std::int64_t count = 0;
  const Outcome read = parse_number(bytes, "too big mbulk count string", count, kInvalid);
  if (read != Outcome::kRequest) return read;
  if (count < 0) return fail(fmt::format("{} ({})", kInvalid, count));
  if (count > static_cast<std::int64_t>(limits_.arguments)) {
    return fail(fmt::format("{} ({}: a request has at most {} arguments)", kInvalid, count,
                            limits_.arguments));
  }
  if (restricted_ && count > static_cast<std::int64_t>(kFewArguments))
    return fail("unauthenticated multibulk length");
  left_ = count;
  return Outcome::kRequest;
}

RequestParser::Outcome RequestParser::parse_bulks(std::string_view bytes) {
  constexpr std::string_view kInvalid = "invalid bulk length";
  while (left_ > 0) {
    if (bulk_ == kUnknown) {
      if (at_ == bytes.size()) {
        wanted_ = at_ + 1;
        return Outcome::kIncomplete;
      }
      if (bytes[at_] != '$')
        return fail(fmt::format("expected '$', got '{}'", escape_unsafe(bytes.substr(at_, 1))));
      std::int64_t size = 0;
      const Outcome read = parse_number(bytes, "too big bulk count string", size, kInvalid);
      if (read != Outcome::kRequest) return read;
      if (size < 0) return fail(fmt::format("{} ({})", kInvalid, size));
      if (size > static_cast<std::int64_t>(limits_.argument)) {
        return fail(fmt::format("{} ({} bytes: an argument has at most {}, see --max-argument)",
                                kInvalid, size, limits_.argument));
      }
      if (restricted_ && size > static_cast<std::int64_t>(kShortArgument))
        return fail("unauthenticated bulk length");
      bulk_ = size;
    }
    const auto size = static_cast<std::size_t>(bulk_);
    wanted_ = at_ + size + 2;
    if (wanted_ > limits_.request)
      return fail(fmt::format("a request has at most {} bytes", limits_.request));
    if (bytes.size() < wanted_) return Outcome::kIncomplete;
    if (bytes[at_ + size] != '\r' || bytes[at_ + size + 1] != '\n')
      return fail("an argument does not end where its length says");
    parts_.push_back({static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(size)});
    at_ += size + 2;
    bulk_ = kUnknown;
    --left_;
  }
  request_ = {bytes.data(), parts_};
  return Outcome::kRequest;
}

RequestParser::Outcome RequestParser::parse_inline(std::string_view bytes) {
  const std::size_t end = bytes.find('\n', at_);
  if (end == std::string_view::npos) {
    if (bytes.size() > limits_.inline_line) return fail("too big inline request");
    at_ = bytes.size();  // searched
    wanted_ = bytes.size() + 1;
    return Outcome::kIncomplete;
  }
  if (end > limits_.inline_line) return fail("too big inline request");
  auto line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at_ = end + 1;
  words_.clear();
  if (!split_inline_words(line, words_, parts_)) return fail("unbalanced quotes in request");
  request_ = {words_.data(), parts_};
  return parts_.size() > 0 && begins_http(request_[0]) ? Outcome::kHttp : Outcome::kRequest;
}

}  // namespace trawl::resp
