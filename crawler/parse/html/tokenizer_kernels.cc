#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "crawler/parse/html/token_masks.h"
#include "crawler/parse/html/token_masks_x86.h"
#include "crawler/parse/html/tokenizer_kernel.h"
#include "crawler/parse/html/tokenizer_text.h"

namespace trawl {

namespace {

namespace portable {

constexpr std::uint8_t kEndsName = 1;
constexpr std::uint8_t kEndsAttributeName = 2;

constexpr std::array<std::uint8_t, 256> kKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (const unsigned char byte : {' ', '\t', '\n', '\f', '\r', '/', '>'}) {
    kinds[byte] = kEndsName | kEndsAttributeName;
  }
  kinds['='] = kEndsAttributeName;
  return kinds;
}();

// The portable version of tokenizer_scanner.inc, byte by byte.
class Scanner {
 public:
  Scanner(const char*, const char* end) : end_(end) {}

  const char* find_name_end(const char* from) const { return find(from, kEndsName); }
  const char* find_attribute_name_end(const char* from) const {
    return find(from, kEndsAttributeName);
  }
  const char* find_quote(const char* from) const { return find_byte(from, end_, '"'); }
  const char* find_open(const char* from) const { return find_byte(from, end_, '<'); }

 private:
  const char* find(const char* from, std::uint8_t kind) const {
    while (from != end_ && (kKinds[static_cast<unsigned char>(*from)] & kind) == 0)
      ++from;
    return from;
  }

  const char* end_;
};

#define TRAWL_TARGET
#define TRAWL_INLINE inline
#include "crawler/parse/html/tokenizer_kernel.inc"
#undef TRAWL_TARGET
#undef TRAWL_INLINE

}  // namespace portable

#if defined(__x86_64__)

namespace sse2 {
#define TRAWL_PROCESSOR Sse2Html
#define TRAWL_TARGET [[gnu::target(TRAWL_HTML_SSE2)]]
#define TRAWL_INLINE [[gnu::target(TRAWL_HTML_SSE2), gnu::always_inline]] inline
#include "crawler/parse/html/tokenizer_kernel.inc"
#undef TRAWL_PROCESSOR
#undef TRAWL_TARGET
#undef TRAWL_INLINE
}  // namespace sse2

namespace avx2 {
#define TRAWL_PROCESSOR Avx2Html
#define TRAWL_TARGET [[gnu::target(TRAWL_HTML_AVX2)]]
#define TRAWL_INLINE [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] inline
#include "crawler/parse/html/tokenizer_kernel.inc"
#undef TRAWL_PROCESSOR
#undef TRAWL_TARGET
#undef TRAWL_INLINE
}  // namespace avx2

namespace avx512 {
#define TRAWL_PROCESSOR Avx512Html
#define TRAWL_TARGET [[gnu::target(TRAWL_HTML_AVX512)]]
#define TRAWL_INLINE [[gnu::target(TRAWL_HTML_AVX512), gnu::always_inline]] inline
#include "crawler/parse/html/tokenizer_kernel.inc"
#undef TRAWL_PROCESSOR
#undef TRAWL_TARGET
#undef TRAWL_INLINE
}  // namespace avx512

#endif

}  // namespace

#if defined(__x86_64__)

std::span<const TokenizerKernel> tokenizer_kernels() noexcept {
  static constexpr std::array<TokenizerKernel, 4> kAll = {{
      {"portable", portable::next_tag, portable::read_tag},
      {"SSE2", sse2::next_tag, sse2::read_tag},
      {"AVX2", avx2::next_tag, avx2::read_tag},
      {"AVX-512", avx512::next_tag, avx512::read_tag},
  }};
  // A processor that runs one kernel also runs all before it: none has AVX-512 without AVX2.
  static const std::size_t running = [] {
    if (!Avx2Html::runs_here()) return std::size_t{2};
    return Avx512Html::runs_here() ? std::size_t{4} : std::size_t{3};
  }();
  return std::span(kAll).first(running);
}

#else

std::span<const TokenizerKernel> tokenizer_kernels() noexcept {
  static constexpr std::array<TokenizerKernel, 1> kAll = {
      {{"portable", portable::next_tag, portable::read_tag}}};
  return kAll;
}

#endif

}  // namespace trawl
