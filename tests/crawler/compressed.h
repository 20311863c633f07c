// Bodies as servers compress them, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

namespace trawl::test {

// With zlib's windowBits: 15 + 16 for gzip, 15 for zlib's own header, -15 for none.
inline std::string deflated(const std::string& bytes, int window_bits) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    std::abort();
  }
  std::string packed(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}
inline std::string gzip(const std::string& bytes) {
  return deflated(bytes, 15 + 16);
}

inline std::string brotli(const std::string& bytes, int window = BROTLI_DEFAULT_WINDOW) {
  std::size_t size = BrotliEncoderMaxCompressedSize(bytes.size()) + 64;
  std::string packed(size, '\0');
  if (BrotliEncoderCompress(5, window, BROTLI_MODE_GENERIC, bytes.size(),
                            reinterpret_cast<const std::uint8_t*>(bytes.data()), &size,
                            reinterpret_cast<std::uint8_t*>(packed.data())) != BROTLI_TRUE) {
    std::abort();
  }
  packed.resize(size);
  return packed;
}

// With a window of so many bits, whatever the size.
inline std::string zstd(const std::string& bytes, int window_log = 17) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue) > packed.size() ||
      ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) {
    std::abort();
  }
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

}  // namespace trawl::test
