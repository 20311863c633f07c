#include "crawler/http/content_coding.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <brotli/decode.h>
#include <zlib.h>
// For ZSTD_sizeof_DStream(), which is exported but not part of the stable API.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/ascii.h"

namespace trawl {

namespace {

// Memory of a stream: inflate's state and window (zconf.h).
constexpr std::size_t kInflateMemory = 48 * 1024;
// A bit of z_stream::data_type after inflate().
constexpr int kInLastBlock = 64;
constexpr int kAtBlockEnd = 128;
// 8 MiB, the limit of browsers (RFC 8878 section 7.2); libzstd's default is 128 MiB.
constexpr int kMaxZstdWindowLog = 23;

// gzip, perhaps with several members, or deflate.
class InflateCoding final : public ContentCoding {
 public:
  explicit InflateCoding(bool gzip) : gzip_(gzip) {
    if (gzip) start(15 + 16);
  }
  InflateCoding(const InflateCoding&) = delete;
  InflateCoding& operator=(const InflateCoding&) = delete;
  ~InflateCoding() override {
    if (started_) ::inflateEnd(&stream_);
  }

  std::size_t decode(std::string_view& input, std::span<char> out) override {
    if (!started_ && !sniff(input)) return 0;
    std::size_t written = 0;
    while (!broken_ && written < out.size()) {
      if (ended_ && !next_member(input)) break;
      std::string_view sniffed(sniffed_.data() + sniffed_used_, sniffed_size_ - sniffed_used_);
      if (!sniffed.empty()) {
        const std::size_t size = sniffed.size();
        written += inflate(sniffed, out.subspan(written));
        sniffed_used_ += size - sniffed.size();
        continue;
      }
      const std::size_t size = input.size();
      const std::size_t more = inflate(input, out.subspan(written));
      written += more;
      // At the end of a block, zlib may have more output from input it has taken.
      if (more == 0 && size == input.size() && !ended_ && !at_block_end_)
        break;  // needs more input
    }
    return written;
  }

  bool broken() const override { return broken_; }
  bool complete() const override {
    if (!started_) return sniffed_size_ == 0;
    // Some servers omit the checksum after the data; browsers accept that.
    if (data_ended_) return true;
    // A single byte that could begin a member is garbage after the last member.
    return ended_ || (stream_.total_out == 0 && (members_ > 0 || stream_.total_in == 0));
  }
  std::size_t memory() const override { return kInflateMemory; }

 private:
  void start(int window_bits) {
    started_ = true;
    if (::inflateInit2(&stream_, window_bits) != Z_OK) broken_ = true;
  }

  // "deflate" should have zlib's header (RFC 9110 section 8.4.1.2), but some servers omit it: the
  // first two bytes decide.
  bool sniff(std::string_view& input) {
    while (sniffed_size_ < sniffed_.size() && !input.empty()) {
      sniffed_[sniffed_size_++] = input.front();
      input.remove_prefix(1);
    }
    if (sniffed_size_ < sniffed_.size()) return false;
    const unsigned first = static_cast<unsigned char>(sniffed_[0]);
    const unsigned second = static_cast<unsigned char>(sniffed_[1]);
    const bool zlib = (first & 0x0F) == Z_DEFLATED && (first * 256 + second) % 31 == 0;
    start(zlib ? 15 : -15);
    return true;
  }

  // Returns false if no further member follows.
  bool next_member(std::string_view& input) {
    if (input.empty()) return false;
    if (rubbish_ || !gzip_ || input.front() != '\x1f' || ::inflateReset(&stream_) != Z_OK) {
      rubbish_ = true;
      input = {};
      return false;
    }
    ++members_;
    ended_ = data_ended_ = false;
    return true;
  }

  std::size_t inflate(std::string_view& input, std::span<char> out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    // Z_BLOCK stops at the end of each block, so that the end of the data is seen even if the
    // checksum is missing.
    const int result = ::inflate(&stream_, Z_BLOCK);
    input.remove_prefix(input.size() - stream_.avail_in);
    at_block_end_ = (stream_.data_type & kAtBlockEnd) != 0;
    data_ended_ = data_ended_ || (at_block_end_ && (stream_.data_type & kInLastBlock) != 0);
    if (result == Z_STREAM_END) {
      ended_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      if (members_ > 0 && stream_.total_out == 0) {
        ended_ = rubbish_ = true;
      } else {
        broken_ = true;
      }
    }
    return out.size() - stream_.avail_out;
  }

  const bool gzip_;
  bool started_ = false;
  bool at_block_end_ = false;
  bool data_ended_ = false;  // the checksum may still follow
  bool ended_ = false;
  bool rubbish_ = false;  // after the last member
  bool broken_ = false;
  std::size_t members_ = 0;  // number of complete ones
  std::array<char, 2> sniffed_{};
  std::size_t sniffed_size_ = 0;
  std::size_t sniffed_used_ = 0;
  z_stream stream_{};
};

class BrotliCoding final : public ContentCoding {
 public:
  BrotliCoding() : state_(BrotliDecoderCreateInstance(&allocate, &release, &memory_)) {}
  BrotliCoding(const BrotliCoding&) = delete;
  BrotliCoding& operator=(const BrotliCoding&) = delete;
  ~BrotliCoding() override {
    if (state_ != nullptr) BrotliDecoderDestroyInstance(state_);
  }

  std::size_t decode(std::string_view& input, std::span<char> out) override {
    if (broken()) return 0;
    begun_ = begun_ || !input.empty();
    const auto* next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    std::size_t in = input.size();
    auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
    std::size_t room = out.size();
    if (!ended_) {
      const BrotliDecoderResult result =
          BrotliDecoderDecompressStream(state_, &in, &next_in, &room, &next_out, nullptr);
      ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
      failed_ = result == BROTLI_DECODER_RESULT_ERROR;
    }
    input.remove_prefix(ended_ ? input.size() : input.size() - in);
    return out.size() - room;
  }

  bool broken() const override { return failed_ || state_ == nullptr; }
  bool complete() const override { return ended_ || !begun_; }
  std::size_t memory() const override { return memory_; }

 private:
  static constexpr std::size_t kHeader = alignof(std::max_align_t);

  static void* allocate(void* memory, std::size_t size) {
    auto* block = static_cast<char*>(std::malloc(size + kHeader));
    if (block == nullptr) return nullptr;
    new (block) std::size_t(size + kHeader);
    *static_cast<std::size_t*>(memory) += size + kHeader;
    return block + kHeader;
  }
  static void release(void* memory, void* address) {
    if (address == nullptr) return;
    char* const block = static_cast<char*>(address) - kHeader;
    *static_cast<std::size_t*>(memory) -= *std::launder(reinterpret_cast<std::size_t*>(block));
    std::free(block);
  }

  std::size_t memory_ = 0;
  bool begun_ = false;
  bool ended_ = false;
  bool failed_ = false;
  BrotliDecoderState* const state_;
};

// zstd, perhaps with several frames.
class ZstdCoding final : public ContentCoding {
 public:
  ZstdCoding() : stream_(ZSTD_createDStream()) {
    if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }
  ZstdCoding(const ZstdCoding&) = delete;
  ZstdCoding& operator=(const ZstdCoding&) = delete;
  ~ZstdCoding() override { ZSTD_freeDStream(stream_); }

  std::size_t decode(std::string_view& input, std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (!broken() && !rubbish_ && to.pos < to.size) {
      if (between_frames_ && input.empty()) break;
      ZSTD_inBuffer from{input.data(), input.size(), 0};
      const std::size_t before = to.pos;
      const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
      frame_wrote_ = frame_wrote_ || to.pos > before;
      input.remove_prefix(from.pos);
      if (ZSTD_isError(result) != 0) {
        rubbish_ = frames_ > 0 && !frame_wrote_;
        failed_ = !rubbish_;
        break;
      }
      between_frames_ = result == 0;
      if (between_frames_) {
        ++frames_;
        frame_wrote_ = false;
      } else if (from.pos == 0 && to.pos == before) {
        break;  // needs more input
      }
    }
    if (rubbish_) input = {};
    return to.pos;
  }

  bool broken() const override { return failed_ || stream_ == nullptr; }
  bool complete() const override { return between_frames_ || rubbish_; }
  std::size_t memory() const override { return ZSTD_sizeof_DStream(stream_); }

 private:
  bool between_frames_ = true;
  bool frame_wrote_ = false;
  bool rubbish_ = false;  // after the last frame
  bool failed_ = false;
  std::size_t frames_ = 0;  // number of complete ones
  ZSTD_DStream* const stream_;
};

}  // namespace

std::unique_ptr<ContentCoding> ContentCoding::create(std::string_view name) {
  const auto is = [name](std::string_view other) { return equal_in_any_case(name, other); };
  if (is("gzip") || is("x-gzip")) return std::make_unique<InflateCoding>(true);
  if (is("deflate")) return std::make_unique<InflateCoding>(false);
  if (is("br")) return std::make_unique<BrotliCoding>();
  if (is("zstd")) return std::make_unique<ZstdCoding>();
  return nullptr;
}

}  // namespace trawl
