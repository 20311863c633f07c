#include "filter/blocked/blocked_state.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "filter/mix.h"

namespace trawl {

Result<std::unique_ptr<BlockedBloomFilter::State>> BlockedBloomFilter::State::of_section(
    const SnapshotHeader& header, std::size_t index, const std::string& path) {
  const SnapshotSection& section = header.sections[index];
  if (section.hashes == 0 || section.hashes > kMaxHashes || section.words % kWordsPerBlock != 0)
    return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(std::move(*words), section.hashes, section.capacity,
                                       section.target_rate, KeyedHash::from_key(header.hash_key));
  state->inserted.add(section.inserted);
  return state;
}

SnapshotSection BlockedBloomFilter::State::section() const {
  return {.words = words.size(),
          .capacity = capacity,
          .target_rate = target_rate,
          .inserted = inserted.sum(),
          .hashes = hashes};
}

void BlockedBloomFilter::State::store_words(std::uint64_t first,
                                            std::span<const std::uint64_t> from) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i)
    words[first + i].store(from[i], std::memory_order_relaxed);
}

void BlockedBloomFilter::State::copy_words(std::uint64_t first,
                                           std::span<std::uint64_t> out) const noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    // acquire: pairs with the release in BlockWords::fetch_or; a bit in the copy is of an
    // operation whose entry into the gate the copying thread then sees.
    out[i] = words[first + i].load(std::memory_order_acquire);
  }
}

Result<void> BlockedBloomFilter::State::merge(const State& other) {
  const auto differ = [](std::string_view what, auto mine, auto theirs) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the filters cannot be merged: their {} differ, {} and {}", what, mine,
                            theirs));
  };
  if (capacity != other.capacity) return differ("capacities", capacity, other.capacity);
  if (target_rate != other.target_rate)
    return differ("false-positive rates", target_rate, other.target_rate);
  if (words.size() != other.words.size())
    return differ("sizes in words", words.size(), other.words.size());
  if (hashes != other.hashes) return differ("bits per key", hashes, other.hashes);
  if (hash.key() != other.hash.key()) {
    return fail(ErrorCode::kInvalidArgument,
                "the filters cannot be merged: their hash keys differ, so that one key has other "
                "bits in each");
  }
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const std::uint64_t bits = other.words[i].load(std::memory_order_acquire);
    // As in BlockWords: acquire above and release here pair with the kernels' operations.
    if (bits != 0) words[i].fetch_or(bits, std::memory_order_acq_rel);
  }
  inserted.reset(keys_from_fill());
  return {};
}

std::uint64_t BlockedBloomFilter::State::keys_from_fill() const {
  // A key leaves a given bit of its block unset with probability `unset`, so that of keys that fall
  // on blocks with mean load x a share of exp(-x (1 - unset)) of the bits remains unset.
  const MaskShape shape(hashes);
  const double unset = std::pow(1 - 1.0 / kBitsPerWord, shape.rounds) *
                       (1 - static_cast<double>(shape.extra) / kBitsPerBlock);
  const double blocks_in_all = static_cast<double>(words.size()) / kWordsPerBlock;
  const double bits = static_cast<double>(words.size()) * kBitsPerWord;
  const double rest = std::max(1 - fill(), 1 / bits);
  return static_cast<std::uint64_t>(std::round(-std::log(rest) / (1 - unset) * blocks_in_all));
}

BlockRate::Admission BlockedBloomFilter::State::after_admitting(double keys) const {
  auto [now, lost] = rate.after_admitting(load_of(keys));
  return {.rate = now, .lost = lost * static_cast<double>(words.size()) / kWordsPerBlock};
}

double BlockedBloomFilter::State::fill() const noexcept {
  constexpr std::uint64_t kSampledBlocks = 1 << 15;
  const std::uint64_t all = words.size() / kWordsPerBlock;
  const std::uint64_t sampled = std::min(all, kSampledBlocks);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spread, in 128 bits so that a large filter does not overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * all / sampled);
    for (unsigned w = 0; w < kWordsPerBlock; ++w) {
      set += static_cast<std::uint64_t>(
          std::popcount(words[at * kWordsPerBlock + w].load(std::memory_order_relaxed)));
    }
  }
  return static_cast<double>(set) / (static_cast<double>(sampled) * kBitsPerBlock);
}

FilterStats BlockedBloomFilter::State::stats() const {
  const std::uint64_t keys = inserted.sum();
  const auto [now, lost] = after_admitting(static_cast<double>(keys));
  return {.capacity = capacity,
          .target_rate = target_rate,
          .inserted = keys,
          .memory_bytes = words.bytes(),
          .hashes = hashes,
          .fill = fill(),
          .current_rate = now,
          .expected_false_positives = lost};
}

}  // namespace trawl
