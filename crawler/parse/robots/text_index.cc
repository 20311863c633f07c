// A suffix array, built by prefix doubling. The occurrences of a piece are a run of adjacent
// suffixes, found by binary search. The first occurrence at or after a position is found by
// scanning the run if it is short (up to 1/64 of the text's length), else in a bitmap of the run's
// positions, which is built once per run. So 500 KiB of rules with any content cost some
// milliseconds for a URL of 2 KB, and time grows at most linearly with longer URLs.
#include "crawler/parse/robots/text_index.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <numeric>

#include "crawler/parse/robots/robots_path.h"

namespace trawl {
namespace {

constexpr std::size_t kKeyBytes = 8;

// Runs up to this length are scanned; scanning a bitmap of the text takes about as long.
std::size_t short_run(std::size_t text_size) {
  return std::max<std::size_t>(8, text_size / 64);
}

}  // namespace

TextIndex::TextIndex(std::string_view text) : text_(text) {
  assert(text.size() <= std::numeric_limits<std::uint32_t>::max());
  sort_suffixes();
  collect_keys();
}

// Prefix doubling: suffixes sorted by their first 8 bytes have ranks; the rank of a suffix and the
// rank of the suffix 8 bytes later sort by the first 16 bytes, and so on until all ranks differ.
void TextIndex::sort_suffixes() {
  struct Suffix {
    std::uint64_t key;
    std::uint32_t begin;
  };
  const std::size_t size = text_.size();
  std::vector<Suffix> order(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    order[i] = {.key = robots_sort_key(text_.substr(i)), .begin = i};
  }
  std::vector<std::uint32_t> ranks(size);
  for (std::size_t sorted = kKeyBytes;; sorted *= 2) {
    std::sort(order.begin(), order.end(),
              [](const Suffix& a, const Suffix& b) { return a.key < b.key; });
    steps_ += size * static_cast<std::size_t>(std::bit_width(size));
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (i == 0 || order[i].key != order[i - 1].key) ++rank;
      ranks[order[i].begin] = rank;
    }
    if (rank == size) break;
    for (Suffix& suffix : order) {
      const std::size_t behind = suffix.begin + sorted;
      suffix.key = std::uint64_t{ranks[suffix.begin]} << 32 | (behind < size ? ranks[behind] : 0);
    }
  }
  suffixes_.reserve(size);
  for (const Suffix& suffix : order) {
    suffixes_.push_back(suffix.begin);
  }
}

void TextIndex::collect_keys() {
  keys_.reserve(suffixes_.size());
  for (const std::uint32_t begin : suffixes_) {
    keys_.push_back(robots_sort_key(text_.substr(begin)));
    ++by_byte_[static_cast<unsigned char>(text_[begin]) + std::size_t{1}];
  }
  std::partial_sum(by_byte_.begin(), by_byte_.end(), by_byte_.begin());
}

TextIndex::Run TextIndex::run_of(std::string_view piece) {
  const auto byte = static_cast<unsigned char>(piece.front());
  Run run{.first = by_byte_[byte], .last = by_byte_[byte + std::size_t{1}]};
  if (piece.size() == 1 || run.first == run.last) return run;
  const std::uint64_t low = robots_sort_key(piece);
  const std::uint64_t high =
      piece.size() < kKeyBytes ? low | (~std::uint64_t{0} >> (8 * piece.size())) : low;
  const auto begin = keys_.begin();
  const auto first = std::lower_bound(begin + run.first, begin + run.last, low);
  const auto last = std::upper_bound(first, begin + run.last, high);
  steps_ += 2 * static_cast<std::size_t>(std::bit_width(run.last - run.first));
  run = {.first = static_cast<std::uint32_t>(first - begin),
         .last = static_cast<std::uint32_t>(last - begin)};
  return piece.size() <= kKeyBytes ? run : narrowed(run, piece.substr(kKeyBytes));
}

// The part of a run whose suffixes continue with `rest` after their keys.
TextIndex::Run TextIndex::narrowed(Run run, std::string_view rest) {
  const auto behind_key = [&](std::uint32_t begin) {
    return text_.substr(std::min(begin + kKeyBytes, text_.size()), rest.size());
  };
  const auto begin = suffixes_.begin();
  const auto first =
      std::partition_point(begin + run.first, begin + run.last,
                           [&](std::uint32_t suffix) { return behind_key(suffix) < rest; });
  const auto last = std::partition_point(
      first, begin + run.last, [&](std::uint32_t suffix) { return behind_key(suffix) == rest; });
  steps_ +=
      2 * static_cast<std::size_t>(std::bit_width(run.last - run.first)) * (4 + rest.size() / 16);
  return {.first = static_cast<std::uint32_t>(first - begin),
          .last = static_cast<std::uint32_t>(last - begin)};
}

const TextIndex::Bitmap& TextIndex::bitmap_of(Run run) {
  Bitmap& bitmap = bitmaps_[std::uint64_t{run.first} << 32 | run.last];
  steps_ += 8;
  if (bitmap.empty()) {
    bitmap.resize(text_.size() / 64 + 1);
    for (std::uint32_t i = run.first; i < run.last; ++i) {
      bitmap[suffixes_[i] / 64] |= std::uint64_t{1} << (suffixes_[i] % 64);
    }
    steps_ += bitmap.size() + (run.last - run.first);
  }
  return bitmap;
}

std::size_t TextIndex::next_in(const Bitmap& bitmap, std::size_t from) {
  std::size_t word = from / 64;
  assert(word < bitmap.size());
  std::uint64_t bits = bitmap[word] & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++word == bitmap.size()) return std::string_view::npos;
    ++steps_;
    bits = bitmap[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

std::size_t TextIndex::find(std::string_view piece, std::size_t from) {
  assert(!piece.empty() && from <= text_.size());
  steps_ += 4;
  const auto byte = static_cast<unsigned char>(piece.front());
  if (piece.size() == 1 && byte_bitmaps_[byte] != nullptr) {
    return next_in(*byte_bitmaps_[byte], from);
  }
  const Run run = run_of(piece);
  if (run.last - run.first > short_run(text_.size())) {
    const Bitmap& bitmap = bitmap_of(run);
    if (piece.size() == 1) byte_bitmaps_[byte] = &bitmap;
    return next_in(bitmap, from);
  }
  std::size_t next = std::string_view::npos;
  for (std::uint32_t i = run.first; i < run.last; ++i) {
    if (suffixes_[i] >= from) next = std::min<std::size_t>(next, suffixes_[i]);
  }
  steps_ += run.last - run.first;
  return next;
}

}  // namespace trawl
