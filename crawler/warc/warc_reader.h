// WarcReader: reads the records of a WARC file, .warc or .warc.gz, of any tool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"

struct z_stream_s;

namespace trawl {

struct WarcRecord {
  std::uint64_t offset = 0;                   // in the file; of its gzip member if it is compressed
  std::uint64_t length = 0;                   // of its block
  std::string type;                           // "response", "warcinfo", ...
  std::string url;                            // WARC-Target-URI; empty: none
  std::string date;                           // WARC-Date
  std::string content_type;                   // of the block
  std::string digest;                         // WARC-Payload-Digest
  std::string refers_to_url, refers_to_date;  // of a revisit
  bool is_http() const noexcept { return content_type.starts_with("application/http"); }
};

// The head of an HTTP message in a record.
struct WarcHttpHead {
  int status = 0;  // 0: a request
  std::string content_type;
  std::string content_encoding;
  bool chunked = false;
};

// Takes a few hundred KiB, whatever the file holds. WARC/0.17 to 1.1. Not thread-safe.
class WarcReader {
 public:
  // Errors: those of InputFile::open().
  static Result<WarcReader> open(const std::string& path, std::uint64_t offset = 0);
  WarcReader(WarcReader&&) noexcept;
  WarcReader& operator=(WarcReader&&) noexcept;
  ~WarcReader();

  // The next record, whatever was read of the last; none at the end of the file. Errors: kCorrupt
  // with the offset of what is damaged or cut off; then skip_damage() may go on.
  Result<std::optional<WarcRecord>> next();
  // Reads on in the record's block; 0 at its end. Errors as next().
  Result<std::size_t> read(std::span<char> out);
  // The head of the HTTP message at the begin of the block: read() goes on behind it.
  Result<WarcHttpHead> read_http_head();
  // After an error of kCorrupt: whether there is a later record, which next() returns.
  Result<bool> skip_damage();

 private:
  struct State;
  explicit WarcReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
