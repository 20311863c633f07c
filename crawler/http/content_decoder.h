// ContentDecoder: decodes all codings of a Content-Encoding incrementally.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/http/content_coding.h"

namespace trawl {

class ContentDecoder {
 public:
  static constexpr std::size_t kMaxCodings = 3;
  // The Accept-Encoding of requests.
  static constexpr char kAccepted[] = "gzip, deflate, br, zstd";

  // Null if nothing is to be decoded. Unknown names ("none", "utf-8", "aws-chunked") are ignored,
  // as in browsers. The intermediate output of a coding is limited to `max_between` bytes, since a
  // decompression bomb there would not be noticed otherwise. Errors: kInvalidArgument for more than
  // kMaxCodings known codings.
  static Result<std::unique_ptr<ContentDecoder>> create(std::string_view content_encoding,
                                                        std::uint64_t max_between);

  // Decodes from the front of `input` and removes the bytes taken. Returns the number of bytes
  // written; if `out` is not full, all input was taken, or broken() or exceeded() is true.
  std::size_t decode(std::string_view& input, std::span<char> out) {
    assert(!stages_.empty());
    return decode(stages_.size() - 1, input, out);
  }
  bool broken() const;
  bool exceeded() const { return between_ > max_between_; }
  // False if the input was cut.
  bool complete() const;
  // Allocated bytes.
  std::size_t memory() const;

 private:
  struct Stage {
    std::unique_ptr<ContentCoding> coding;
    std::unique_ptr<std::array<char, 16 * 1024>> buffer;  // output of the previous stage
    std::string_view waiting;                             // the part of `buffer` not yet decoded
  };

  explicit ContentDecoder(std::uint64_t max_between) : max_between_(max_between) {}
  std::size_t decode(std::size_t stage, std::string_view& input, std::span<char> out);

  std::vector<Stage> stages_;  // the first stage takes the input
  const std::uint64_t max_between_;
  std::uint64_t between_ = 0;
};

}  // namespace trawl
