// gzip members, one for each record of a WARC file: compressed from a text, and read one by one
// from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/one_thread.h"

struct libdeflate_compressor;
struct z_stream_s;

namespace trawl {

// Keeps its tables. Not thread-safe.
class GzipCompressor {
 public:
  explicit GzipCompressor(int level);
  // Appends `text` as a member to `out`; returns the member's length.
  std::uint64_t append_member(std::string_view text, std::string& out);

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const noexcept;
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  std::unique_ptr<char[]> scratch_;
  std::size_t scratch_size_ = 0;
  OneAtATime using_;
};

struct GzipMember {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // compressed
  std::uint64_t size = 0;    // uncompressed
  std::string start = {};    // of what was compressed: kMaxStart bytes at most
  std::string end = {};      // its last 4 bytes
};

// Reads consecutive members in bounded memory, whatever the file holds.
class GzipMemberReader {
 public:
  static constexpr std::size_t kMaxStart = 1u << 20;

  // `file` must outlive the reader.
  GzipMemberReader(const InputFile& file, std::uint64_t offset);
  ~GzipMemberReader();
  GzipMemberReader(const GzipMemberReader&) = delete;
  GzipMemberReader& operator=(const GzipMemberReader&) = delete;

  // The next member; none at the end of the file. Errors: kCorrupt if what begins at offset() is
  // damaged or cut off.
  Result<std::optional<GzipMember>> next();
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  Result<bool> fill();  // false: the file has ended

  const InputFile& file_;
  std::uint64_t offset_;  // of the next member
  std::uint64_t read_;    // of the file, up to where input_ ends
  std::unique_ptr<z_stream_s> stream_;
  std::unique_ptr<char[]> input_;
  std::unique_ptr<char[]> output_;
};

}  // namespace trawl
