// ContentDecoder: undoes the codings of a Content-Encoding, one after the other, as bytes come.
#pragma once

#include <array>
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
  // What requests should ask for.
  static constexpr char kAccepted[] = "gzip, deflate, br, zstd";

  // Null if nothing has to be undone. What is not the name of a known coding ("none", "utf-8",
  // "aws-chunked") stands for none, as in browsers. No coding except the last to be undone may give
  // more than `max_between` bytes: between them a bomb could go off unseen. Errors:
  // kInvalidArgument for more than kMaxCodings known ones.
  static Result<std::unique_ptr<ContentDecoder>> create(std::string_view content_encoding,
                                                        std::uint64_t max_between);

  // Decodes from the front of `input`, and removes what it took. Returns how many bytes it wrote;
  // if `out` is not full, all of `input` was taken, or it is broken() or exceeded().
  std::size_t decode(std::string_view& input, std::span<char> out) {
    return decode(stages_.size() - 1, input, out);
  }
  bool broken() const;
  bool exceeded() const { return between_ > max_between_; }
  // Nothing is missing: false if the input was cut off.
  bool complete() const;
  // Bytes that it has allocated.
  std::size_t memory() const;

 private:
  struct Stage {
    std::unique_ptr<ContentCoding> coding;
    std::unique_ptr<std::array<char, 16 * 1024>> buffer;  // what the stage before gave
    std::string_view waiting;                             // the part of it not yet decoded
  };

  explicit ContentDecoder(std::uint64_t max_between) : max_between_(max_between) {}
  std::size_t decode(std::size_t stage, std::string_view& input, std::span<char> out);

  std::vector<Stage> stages_;  // the first takes what came
  const std::uint64_t max_between_;
  std::uint64_t between_ = 0;
};

}  // namespace trawl
