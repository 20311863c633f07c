// TextIndex: finds pieces in a text without scanning it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trawl {

// The suffixes of a text in sorted order: the places of any piece are a run of them, found by
// binary search. What is asked for most, the first place at or after a given one, is then a look
// at the few places of the run, or a look into a bitmap of them that is made once per run: as runs
// are nested or disjoint, all bitmaps together hold no more places than the text has bytes, times
// the longest chain of nested runs that was asked for.
class TextIndex {
 public:
  // Takes n log^2 n steps. `text` has no zero bytes, at most 2^32 bytes, and outlives the index.
  explicit TextIndex(std::string_view text);

  // The first place of `piece` at or after `from`, or npos. `piece` is not empty.
  std::size_t find(std::string_view piece, std::size_t from);

  // The work done so far, as RobotsWork counts it.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct Run {
    std::uint32_t first;  // into suffixes_
    std::uint32_t last;
  };
  using Bitmap = std::vector<std::uint64_t>;

  void sort_suffixes();
  void collect_keys();
  Run run_of(std::string_view piece);
  Run narrowed(Run run, std::string_view rest);
  const Bitmap& bitmap_of(Run run);
  std::size_t next_in(const Bitmap& bitmap, std::size_t from);

  const std::string_view text_;
  std::vector<std::uint32_t> suffixes_;       // where they begin, sorted
  std::vector<std::uint64_t> keys_;           // the first 8 bytes of each
  std::array<std::uint32_t, 257> by_byte_{};  // the first suffix at or above each first byte
  std::unordered_map<std::uint64_t, Bitmap> bitmaps_;
  std::array<const Bitmap*, 256> byte_bitmaps_{};  // of pieces of one byte
  std::uint64_t steps_ = 0;
};

}  // namespace trawl
