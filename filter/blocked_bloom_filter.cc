#include "trawl/blocked_bloom_filter.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/block_layout.h"
#include "filter/exactly_once_insert.h"
#include "filter/mix.h"
#include "filter/snapshot_file.h"
#include "filter/striped_counter.h"

namespace trawl {

namespace {

// How many keys ahead of the current one a batch fetches: enough to cover a cache miss.
constexpr std::size_t kPrefetchDistance = 16;

// One cache line of the filter.
struct alignas(kCacheLine) Block {
  std::atomic<std::uint64_t> words[kWordsPerBlock];

  std::uint64_t load(unsigned w) const noexcept {
    // acquire: pairs with the release in fetch_or(), so that whoever sees a key's bit also sees
    // what its inserter did before: earlier words of the block, and its entry into the gate.
    return words[w].load(std::memory_order_acquire);
  }
  std::uint64_t fetch_or(unsigned w, std::uint64_t bits) noexcept {
    // release: publishes the later words of the block, set before; acquire: orders this RMW after
    // the ones it finds. Pairs with the acquire load and with the other RMWs.
    return words[w].fetch_or(bits, std::memory_order_acq_rel);
  }
};
static_assert(sizeof(Block) == kBitsPerBlock / 8);

// Bit i of a key lies in word (r + i) mod 8. Six bits of the hash give a bit's place; a fingerprint
// has them for ten bits, and is mixed anew for each further ten.
BlockMasks masks_of(std::uint64_t low, unsigned bits_per_key) noexcept {
  constexpr unsigned kPlacesPerHash = 10;
  BlockMasks masks{};
  const auto r = static_cast<unsigned>(low >> 61);
  std::uint64_t places = low;
  for (unsigned i = 0; i < bits_per_key; ++i) {
    if (i > 0 && i % kPlacesPerHash == 0) places = mix64(low + i);
    masks[(r + i) % kWordsPerBlock] |= std::uint64_t{1} << (places % kBitsPerWord);
    places /= kBitsPerWord;
  }
  return masks;
}

// Zeroed memory straight from the kernel, which gives pages only as they are touched.
class BlockArray {
 public:
  static Result<BlockArray> allocate(std::uint64_t blocks) {
    const std::uint64_t bytes = blocks * sizeof(Block);
    const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    void* memory = MAP_FAILED;
    if (bytes <= machine) {
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (memory == MAP_FAILED) {
      return fail(
          ErrorCode::kNoSpace,
          fmt::format("the filter needs {} MiB of memory, the machine has {} MiB: lower its "
                      "capacity, or allow a higher false-positive rate",
                      bytes >> 20, machine >> 20));
    }
    // Fewer TLB misses; without huge pages the filter works all the same.
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    return BlockArray(static_cast<Block*>(memory), blocks);
  }
  BlockArray(BlockArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  BlockArray& operator=(BlockArray&&) = delete;
  ~BlockArray() {
    if (data_ != nullptr) ::munmap(data_, size_ * sizeof(Block));
  }

  std::uint64_t size() const noexcept { return size_; }
  Block& operator[](std::uint64_t i) const noexcept { return data_[i]; }
  std::atomic<std::uint64_t>& word(std::uint64_t i) const noexcept {
    return data_[i / kWordsPerBlock].words[i % kWordsPerBlock];
  }

 private:
  BlockArray(Block* data, std::uint64_t size) : data_(data), size_(size) {}
  Block* data_;
  std::uint64_t size_;
};

}  // namespace

struct BlockedBloomFilter::State {
  State(BlockArray array, unsigned k, std::uint64_t planned, double rate_asked)
      : blocks(std::move(array)),
        bits_per_key(k),
        capacity(planned),
        target_rate(rate_asked),
        rate(k) {}

  Block& block_of(Fingerprint key) const noexcept {
    return blocks[scale_to(key.high, blocks.size())];
  }
  bool insert_uncounted(Fingerprint key) noexcept {
    return exactly_once_insert(block_of(key), masks_of(key.low, bits_per_key));
  }
  bool contains(Fingerprint key) const noexcept {
    const Block& block = block_of(key);
    const BlockMasks masks = masks_of(key.low, bits_per_key);
    for (unsigned w = 0; w < kWordsPerBlock; ++w) {
      if ((block.load(w) & masks[w]) != masks[w]) return false;
    }
    return true;
  }
  double load_of(double keys) const noexcept { return keys / static_cast<double>(blocks.size()); }

  BlockArray blocks;
  unsigned bits_per_key;
  std::uint64_t capacity;
  double target_rate;
  BlockRate rate;
  StripedCounter inserted;
};

BlockedBloomFilter::BlockedBloomFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlockedBloomFilter::BlockedBloomFilter(BlockedBloomFilter&&) noexcept = default;
BlockedBloomFilter& BlockedBloomFilter::operator=(BlockedBloomFilter&&) noexcept = default;
BlockedBloomFilter::~BlockedBloomFilter() = default;

Result<BlockedBloomFilter> BlockedBloomFilter::create(const Options& options) {
  const auto layout = choose_layout(options.capacity, options.false_positive_rate);
  if (!layout) return tl::unexpected(layout.error());
  auto blocks = BlockArray::allocate(layout->blocks);
  if (!blocks) return tl::unexpected(blocks.error());
  return BlockedBloomFilter(std::make_unique<State>(std::move(*blocks), layout->bits_per_key,
                                                    options.capacity, options.false_positive_rate));
}

Result<BlockedBloomFilter> BlockedBloomFilter::load(const std::string& path) {
  auto reader = SnapshotReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  const SnapshotHeader& header = reader->header();
  auto blocks = BlockArray::allocate(header.blocks);
  if (!blocks) return tl::unexpected(blocks.error());
  auto state = std::make_unique<State>(std::move(*blocks), header.bits_per_key, header.capacity,
                                       header.target_rate);
  state->inserted.add(header.inserted);
  auto read = reader->read_chunks([&](std::uint64_t first, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      state->blocks.word(first + i).store(words[i], std::memory_order_relaxed);
    }
  });
  if (!read) return tl::unexpected(read.error());
  return BlockedBloomFilter(std::move(state));
}

Result<std::uint64_t> BlockedBloomFilter::save(const std::string& path) const {
  const SnapshotHeader header{.capacity = state_->capacity,
                              .target_rate = state_->target_rate,
                              .blocks = state_->blocks.size(),
                              .bits_per_key = state_->bits_per_key,
                              .inserted = state_->inserted.sum()};
  return write_snapshot(path, header, [&](std::uint64_t first, std::span<std::uint64_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      // acquire: pairs with the release in Block::fetch_or; a bit in the copy is of an operation
      // whose entry into the gate the copying thread then sees.
      out[i] = state_->blocks.word(first + i).load(std::memory_order_acquire);
    }
  });
}

bool BlockedBloomFilter::insert(Fingerprint key) noexcept {
  const bool first = state_->insert_uncounted(key);
  if (first) state_->inserted.add(1);
  return first;
}

bool BlockedBloomFilter::contains(Fingerprint key) const noexcept {
  return state_->contains(key);
}

std::size_t BlockedBloomFilter::insert_batch(std::span<const Fingerprint> keys,
                                             std::span<bool> admitted) noexcept {
  assert(keys.size() == admitted.size());
  State& state = *state_;
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, keys.size()); ++i) {
    __builtin_prefetch(&state.block_of(keys[i]), 1);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kPrefetchDistance < keys.size()) {
      __builtin_prefetch(&state.block_of(keys[i + kPrefetchDistance]), 1);
    }
    admitted[i] = state.insert_uncounted(keys[i]);
    fresh += admitted[i] ? 1 : 0;
  }
  if (fresh > 0) state.inserted.add(fresh);
  return fresh;
}

std::size_t BlockedBloomFilter::contains_batch(std::span<const Fingerprint> keys,
                                               std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  const State& state = *state_;
  std::size_t present = 0;
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, keys.size()); ++i) {
    __builtin_prefetch(&state.block_of(keys[i]), 0);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kPrefetchDistance < keys.size()) {
      __builtin_prefetch(&state.block_of(keys[i + kPrefetchDistance]), 0);
    }
    found[i] = state.contains(keys[i]);
    present += found[i] ? 1 : 0;
  }
  return present;
}

BlockedBloomFilter::Stats BlockedBloomFilter::stats() const {
  const std::uint64_t inserted = state_->inserted.sum();
  constexpr std::uint64_t kSampledBlocks = 1 << 15;
  const std::uint64_t blocks = state_->blocks.size();
  const std::uint64_t sampled = std::min(blocks, kSampledBlocks);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spread, in 128 bits so that a large filter does not overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * blocks / sampled);
    for (const auto& word : state_->blocks[at].words) {
      set += static_cast<std::uint64_t>(std::popcount(word.load(std::memory_order_relaxed)));
    }
  }
  const auto keys = static_cast<double>(inserted);
  return Stats{.capacity = state_->capacity,
               .target_rate = state_->target_rate,
               .inserted = inserted,
               .memory_bytes = blocks * sizeof(Block),
               .bits_per_key = state_->bits_per_key,
               .fill = static_cast<double>(set) / (static_cast<double>(sampled) * kBitsPerBlock),
               .current_rate = false_positive_rate(keys),
               .expected_false_positives = expected_false_positives(keys)};
}

double BlockedBloomFilter::false_positive_rate(double keys) const {
  return state_->rate.at(state_->load_of(keys));
}

double BlockedBloomFilter::expected_false_positives(double keys) const {
  return state_->rate.expected_losses(state_->load_of(keys)) *
         static_cast<double>(state_->blocks.size());
}

}  // namespace trawl
