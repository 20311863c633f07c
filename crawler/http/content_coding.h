// ContentCoding: decodes one coding of a Content-Encoding incrementally.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "crawler/config/decoder_memory.h"

namespace trawl {

class ContentCoding {
 public:
  // `name`: "gzip", "x-gzip", "deflate" (with or without zlib's header), "br" or "zstd", ignoring
  // case. Null for unknown names.
  static std::unique_ptr<ContentCoding> create(std::string_view name);
  virtual ~ContentCoding() = default;

  // Decodes from the front of `input` and removes the bytes taken. Returns the number of bytes
  // written; if `out` is not full, all input was taken, or broken() is now true. Bytes after the
  // end of the coding are taken and ignored.
  virtual std::size_t decode(std::string_view& input, std::span<char> out) = 0;
  virtual bool broken() const = 0;
  // Whether the end of the coding was reached.
  virtual bool complete() const = 0;
  // Allocated bytes, at most kMostDecoderMemory.
  virtual std::size_t memory() const = 0;
};

}  // namespace trawl
