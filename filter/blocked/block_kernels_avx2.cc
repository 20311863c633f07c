// The blocked filter's inner loops with AVX2: a block is two vectors, and two variable shifts place
// a key's bits. Chosen at run time; the rest of the library is built for any x86-64.
#define TRAWL_KERNEL_TARGET __attribute__((target("avx2")))
#include "filter/bits/exactly_once.h"
#include "filter/blocked/block_batch.h"
#include "filter/blocked/block_kernels.h"

// ThreadSanitizer does not see vector loads and would miss their synchronisation.
#if defined(__SANITIZE_THREAD__)
#define TRAWL_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRAWL_THREAD_SANITIZER
#endif
#endif

#if defined(__x86_64__) && !defined(TRAWL_THREAD_SANITIZER)

#include <array>
#include <utility>

#include <immintrin.h>

#define TRAWL_AVX2_MEMBER __attribute__((target("avx2"), always_inline)) inline
#define TRAWL_AVX2_INLINE TRAWL_AVX2_MEMBER static

namespace trawl {

namespace {

struct Halves {
  __m256i low, high;  // words 0 to 3, words 4 to 7
};

TRAWL_AVX2_INLINE __m256i load_words(const std::uint64_t* words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
}

// One bit in each word: ones[w] shifted to the position that the round's hash gives for word w.
TRAWL_AVX2_INLINE Halves place_bits(std::uint64_t hash, Halves ones) {
  const __m256i place_mask = _mm256_set1_epi64x(kPlaceMask);
  const __m256i spread = _mm256_set1_epi64x(static_cast<long long>(hash));
  const __m256i low =
      _mm256_srlv_epi64(spread, _mm256_setr_epi64x(0, kBitsPerPlace, 2 * kBitsPerPlace,  //
                                                   3 * kBitsPerPlace));
  const __m256i high =
      _mm256_srlv_epi64(spread, _mm256_setr_epi64x(4 * kBitsPerPlace, 5 * kBitsPerPlace,
                                                   6 * kBitsPerPlace, 7 * kBitsPerPlace));
  return {_mm256_sllv_epi64(ones.low, _mm256_and_si256(low, place_mask)),
          _mm256_sllv_epi64(ones.high, _mm256_and_si256(high, place_mask))};
}

// A MaskShape with a constant number of rounds, so that the compiler unrolls them.
template <unsigned kRounds, bool kHasExtra>
struct FixedShape {
  static constexpr unsigned rounds = kRounds;
  unsigned extra;
  explicit FixedShape(MaskShape shape) : extra(shape.extra) {}
  static constexpr bool has_extra() noexcept { return kHasExtra; }
};

template <class Shape>
TRAWL_AVX2_INLINE Halves masks_of(std::uint64_t low, Shape shape) {
  const __m256i one = _mm256_set1_epi64x(1);
  Halves masks{_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (unsigned round = 0; round < shape.rounds; ++round) {
    const Halves bits = place_bits(round_hash(low, round), {one, one});
    masks.low = _mm256_or_si256(masks.low, bits.low);
    masks.high = _mm256_or_si256(masks.high, bits.high);
  }
  if (shape.has_extra()) {
    const std::uint64_t* const chosen = last_round(low, shape.extra);
    const Halves bits =
        place_bits(round_hash(low, shape.rounds), {load_words(chosen), load_words(chosen + 4)});
    masks.low = _mm256_or_si256(masks.low, bits.low);
    masks.high = _mm256_or_si256(masks.high, bits.high);
  }
  return masks;
}

// Reads four words of a block. On x86 aligned words are read whole and with acquire order. In
// assembly, since C++ has no such vector load: the compiler must neither reorder it with atomic
// operations nor treat it as a data race.
TRAWL_AVX2_INLINE __m256i acquire_words(const std::atomic<std::uint64_t>* words) {
  __m256i value;
  asm volatile("vmovdqa %1, %0"
               : "=x"(value)
               : "m"(*reinterpret_cast<const __m256i*>(words))
               : "memory");
  return value;
}

// Writes four words, each whole and with release order, as x86 writes aligned words.
TRAWL_AVX2_INLINE void release_words(std::atomic<std::uint64_t>* words, __m256i value) {
  asm volatile("vmovdqa %1, %0" : "=m"(*reinterpret_cast<__m256i*>(words)) : "x"(value) : "memory");
}

TRAWL_AVX2_INLINE bool has_all(const std::atomic<std::uint64_t>* block, Halves masks) {
  return (_mm256_testc_si256(acquire_words(block), masks.low) &
          _mm256_testc_si256(acquire_words(block + 4), masks.high)) != 0;
}

// A key, its bits, and their block. LockedBlock says which memory orders pair.
class Avx2Key {
 public:
  TRAWL_AVX2_MEMBER Avx2Key(std::atomic<std::uint64_t>* block, StripeLock& lock, Halves masks)
      : block_(block), lock_(lock), masks_(masks) {}

  TRAWL_AVX2_MEMBER bool is_in() const noexcept { return has_all(block_, masks_); }
  TRAWL_AVX2_MEMBER bool lock_and_ask() noexcept {
    lock_.lock();
    return is_in();
  }
  TRAWL_AVX2_MEMBER void add_and_unlock() noexcept {
    lock_.assert_held();
    release_words(block_, _mm256_or_si256(acquire_words(block_), masks_.low));
    release_words(block_ + 4, _mm256_or_si256(acquire_words(block_ + 4), masks_.high));
    lock_.unlock();
  }

 private:
  std::atomic<std::uint64_t>* block_;
  StripeLock& lock_;
  Halves masks_;
};

template <class ShapeOfFilter>
struct Avx2Insert {
  using Shape = ShapeOfFilter;
  TRAWL_AVX2_INLINE bool answer(const BlockSpan& filter, Fingerprint key, Shape shape) noexcept {
    Avx2Key inserted(filter.block_of(key), filter.lock_of(key), masks_of(key.low, shape));
    return exactly_once_insert(inserted);
  }
};

template <class ShapeOfFilter>
struct Avx2Contains {
  using Shape = ShapeOfFilter;
  TRAWL_AVX2_INLINE bool find(std::atomic<std::uint64_t>* block, std::uint64_t low,
                              Shape shape) noexcept {
    return has_all(block, masks_of(low, shape));
  }
  TRAWL_AVX2_INLINE bool answer(const BlockSpan& filter, Fingerprint key, Shape shape) noexcept {
    return find(filter.block_of(key), key.low, shape);
  }
};

template <unsigned kRounds, bool kHasExtra>
constexpr BlockKernels avx2_kernels() {
  using Shape = FixedShape<kRounds, kHasExtra>;
  return block_kernels<Avx2Insert<Shape>, Avx2Contains<Shape>>("avx2");
}

// Two kernels for each number of rounds: without and with an extra round.
template <std::size_t... kRounds>
constexpr auto all_avx2_kernels(std::index_sequence<kRounds...>) {
  return std::array{std::array{avx2_kernels<kRounds, false>(), avx2_kernels<kRounds, true>()}...};
}

}  // namespace

const BlockKernels* avx2_block_kernels(MaskShape shape) noexcept {
  static constexpr auto kKernels = all_avx2_kernels(std::make_index_sequence<kMaxRounds + 1>());
  static const bool runs_here = __builtin_cpu_supports("avx2");
  return runs_here ? &kKernels[shape.rounds][shape.has_extra() ? 1 : 0] : nullptr;
}

}  // namespace trawl

#else

namespace trawl {

const BlockKernels* avx2_block_kernels(MaskShape) noexcept {
  return nullptr;
}

}  // namespace trawl

#endif
