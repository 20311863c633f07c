#include "crawler/cli/warc_payload.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kPayloadPiece = 64u << 10;
constexpr std::size_t kLongestChunkLine = 4096;
constexpr std::uint64_t kMostBetweenCodings = 1ull << 30;

}  // namespace

Result<WarcPayload> WarcPayload::open(WarcReader& reader, const WarcRecord& record, bool raw) {
  WarcPayload payload(reader);
  if (!record.is_http()) return payload;
  auto http = reader.read_http_head();
  if (!http) return tl::unexpected(http.error());
  payload.http_ = *std::move(http);
  if (raw) return payload;
  payload.chunked_ = payload.http_->chunked;
  auto decoder = ContentDecoder::create(payload.http_->content_encoding, kMostBetweenCodings);
  if (!decoder) return tl::unexpected(decoder.error());
  payload.decoder_ = *std::move(decoder);
  return payload;
}

Result<bool> WarcPayload::fill() {
  input_.erase(0, used_);
  used_ = 0;
  const std::size_t before = input_.size();
  input_.resize(before + kPayloadPiece);
  const auto n = reader_->read(std::span(input_.data() + before, kPayloadPiece));
  if (!n) return tl::unexpected(n.error());
  input_.resize(before + *n);
  return *n > 0;
}

// Without chunks. A body that is not in chunks although its head says so stays as it is: some tools
// write it like that.
Result<std::string_view> WarcPayload::next_coded() {
  while (!ended_) {
    std::string_view rest = std::string_view(input_).substr(used_);
    if (!chunked_ || chunk_left_ > 0) {
      if (rest.empty()) {
        const auto got = fill();
        if (!got) return tl::unexpected(got.error());
        if (!*got) break;
        continue;
      }
      if (chunked_) rest = rest.substr(0, std::min<std::uint64_t>(rest.size(), chunk_left_));
      used_ += rest.size();
      if (chunked_) {
        chunk_left_ -= rest.size();
        after_chunk_ = chunk_left_ == 0;
      }
      begun_ = true;
      return rest;
    }
    if (after_chunk_ && rest.starts_with("\r\n")) {
      used_ += 2;
      after_chunk_ = false;
      continue;
    }
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos || (after_chunk_ && rest.size() < 2)) {
      const auto got = rest.size() > kLongestChunkLine ? Result<bool>(false) : fill();
      if (!got) return tl::unexpected(got.error());
      if (*got) continue;
      if (!begun_) chunked_ = false;
      if (begun_) break;
      continue;
    }
    std::uint64_t size = 0;
    const auto number = std::from_chars(rest.data(), rest.data() + newline, size, 16);
    if (number.ec != std::errc()) {
      if (begun_) break;
      chunked_ = false;
      continue;
    }
    used_ += newline + 1;
    chunk_left_ = size;
    ended_ = size == 0;
  }
  ended_ = true;
  return std::string_view();
}

Result<std::string_view> WarcPayload::next() {
  if (!decoder_) return next_coded();
  output_.resize(kPayloadPiece);
  for (;;) {
    if (coded_.empty()) {
      const auto more = next_coded();
      if (!more) return more;
      coded_ = *more;
    }
    const bool last = coded_.empty();
    const std::size_t n = decoder_->decode(coded_, output_);
    if (n > 0) return std::string_view(output_).substr(0, n);
    if (decoder_->broken() || decoder_->exceeded())
      return error(ErrorCode::kCorrupt, "its Content-Encoding cannot be decoded: try --raw");
    if (last) return std::string_view();
  }
}

}  // namespace trawl::cli
