#include "crawler/warc/gzip_member.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <new>

#include <libdeflate.h>
#include <zlib.h>

namespace trawl {

namespace {

constexpr std::size_t kBuffer = 256 * 1024;
// Larger ones are not kept for the next text.
constexpr std::size_t kMaxKeptScratch = 1u << 20;

}  // namespace

void GzipCompressor::Free::operator()(libdeflate_compressor* compressor) const noexcept {
  libdeflate_free_compressor(compressor);
}

GzipCompressor::GzipCompressor(int level)
    : compressor_(libdeflate_alloc_compressor(std::clamp(level, 0, 12))) {
  if (compressor_ == nullptr) throw std::bad_alloc();
}

std::uint64_t GzipCompressor::append_member(std::string_view text, std::string& out) {
  const OneAtATime::Use use(using_);
  const std::size_t bound = libdeflate_gzip_compress_bound(compressor_.get(), text.size());
  if (bound > scratch_size_) {
    scratch_ = std::make_unique_for_overwrite<char[]>(bound);
    scratch_size_ = bound;
  }
  const std::size_t length = libdeflate_gzip_compress(compressor_.get(), text.data(), text.size(),
                                                      scratch_.get(), scratch_size_);
  assert(length > 0 && length <= bound);
  out.append(scratch_.get(), length);
  if (scratch_size_ > kMaxKeptScratch) {
    scratch_.reset();
    scratch_size_ = 0;
  }
  return length;
}

GzipMemberReader::GzipMemberReader(const InputFile& file, std::uint64_t offset)
    : file_(file),
      offset_(offset),
      read_(offset),
      stream_(std::make_unique<z_stream>()),
      input_(std::make_unique_for_overwrite<char[]>(kBuffer)),
      output_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  // 16: gzip, with its checksum verified.
  if (inflateInit2(stream_.get(), 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

GzipMemberReader::~GzipMemberReader() {
  inflateEnd(stream_.get());
}

Result<bool> GzipMemberReader::fill() {
  if (stream_->avail_in > 0) return true;
  const auto n = file_.read_at(input_.get(), kBuffer, read_);
  if (!n) return tl::unexpected(n.error());
  read_ += *n;
  stream_->next_in = reinterpret_cast<Bytef*>(input_.get());
  stream_->avail_in = static_cast<uInt>(*n);
  return *n > 0;
}

Result<std::optional<GzipMember>> GzipMemberReader::next() {
  GzipMember member{.offset = offset_};
  const auto damaged = [&](std::string_view how) {
    return error(ErrorCode::kCorrupt, file_.path() + ": the record at byte " +
                                          std::to_string(offset_) + " is " + std::string(how));
  };
  inflateReset(stream_.get());
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const auto more = fill();
    if (!more) return tl::unexpected(more.error());
    if (!*more) {
      if (read_ == offset_) return std::optional<GzipMember>();
      return damaged("cut off");
    }
    stream_->next_out = reinterpret_cast<Bytef*>(output_.get());
    stream_->avail_out = kBuffer;
    status = inflate(stream_.get(), Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) return damaged("damaged");
    const std::string_view text(output_.get(), kBuffer - stream_->avail_out);
    member.size += text.size();
    member.start += text.substr(0, kMaxStart - member.start.size());
    member.end += text.substr(text.size() - std::min<std::size_t>(text.size(), 4));
    member.end.erase(0, member.end.size() - std::min<std::size_t>(member.end.size(), 4));
  }
  member.length = read_ - stream_->avail_in - offset_;
  offset_ += member.length;
  return member;
}

}  // namespace trawl
