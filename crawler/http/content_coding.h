// The codings that a Content-Encoding may name, each undone as the bytes come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace trawl {

class ContentCoding {
 public:
  // What no coding's memory() goes beyond: brotli may have a window of 16 MiB, and its tables.
  static constexpr std::size_t kMostMemory = 20u << 20;

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
  // Bytes that it has allocated.
  virtual std::size_t memory() const = 0;
};

}  // namespace trawl
