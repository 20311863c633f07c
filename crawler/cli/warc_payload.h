// WarcPayload: the payload of a WARC record, decoded piece by piece.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "crawler/http/content_decoder.h"
#include "crawler/warc/warc_reader.h"

namespace trawl::cli {

// Of an HTTP message its body, else the block. Uses bounded memory.
class WarcPayload {
 public:
  // `record`: the one that `reader` has returned last. `raw`: nothing is decoded.
  static Result<WarcPayload> open(WarcReader& reader, const WarcRecord& record, bool raw);

  // The next piece, valid until the next call; empty at the end. Errors: kCorrupt.
  Result<std::string_view> next();
  const std::optional<WarcHttpHead>& http() const noexcept { return http_; }

 private:
  explicit WarcPayload(WarcReader& reader) : reader_(&reader) {}
  Result<std::string_view> next_coded();
  Result<bool> fill();

  WarcReader* reader_;
  std::optional<WarcHttpHead> http_;
  std::unique_ptr<ContentDecoder> decoder_;
  bool chunked_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool after_chunk_ = false;
  std::uint64_t chunk_left_ = 0;
  std::string input_;  // read of the record, from used_ on not yet taken
  std::size_t used_ = 0;
  std::string_view coded_;  // not yet decoded
  std::string output_;
};

}  // namespace trawl::cli
