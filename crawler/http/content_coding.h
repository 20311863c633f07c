// The codings that a Content-Encoding may name, each undone as the bytes come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "crawler/config/decoder_memory.h"

namespace trawl {

class ContentCoding {
 public:
  // "gzip", "x-gzip", "deflate" (with or without zlib's header), "br", "zstd", in any case. Null:
  // unknown.
  static std::unique_ptr<ContentCoding> create(std::string_view name);
  virtual ~ContentCoding() = default;

  // Decodes from the front of `input`, and removes what it took. Returns how many bytes it wrote;
  // if `out` is not full, all of `input` was taken, or broken() has become true. What follows the
  // end of the coding is taken and ignored.
  virtual std::size_t decode(std::string_view& input, std::span<char> out) = 0;
  virtual bool broken() const = 0;
  // No more has to come.
  virtual bool complete() const = 0;
  // Bytes that it has allocated, at most kMostDecoderMemory.
  virtual std::size_t memory() const = 0;
};

}  // namespace trawl
