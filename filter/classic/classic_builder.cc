#include "filter/classic/classic_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "filter/classic/classic_bloom_filter_state.h"
#include "filter/classic/classic_places.h"
#include "filter/classic/fill_estimator.h"

namespace trawl {

namespace {

// Keys written, and read, by one call.
constexpr std::size_t kBufferKeys = 8 * 1024;
constexpr std::uint64_t kBufferBytes = 2 * kBufferKeys * sizeof(Fingerprint);
// Keys whose words are prefetched while the previous ones' bits are set.
constexpr std::size_t kKeysAtOnce = 64;

// Sets the bits of the keys that are in `part`, which begins at the filter's word `first_word`.
void insert_into_part(const WordArray& part, std::uint64_t first_word, const ClassicLayout& layout,
                      std::span<const Fingerprint> keys) {
  const std::uint64_t bits = layout.words * kClassicWordBits;
  const std::uint64_t first = first_word * kClassicWordBits;
  const std::uint64_t own = part.size() * kClassicWordBits;
  assert(first_word + part.size() <= layout.words && layout.hashes <= kMaxClassicHashes);
  std::array<std::uint64_t, kKeysAtOnce * kMaxClassicHashes> places;
  for (; !keys.empty(); keys = keys.subspan(std::min(kKeysAtOnce, keys.size()))) {
    std::size_t n = 0;
    for (const Fingerprint key : keys.first(std::min(kKeysAtOnce, keys.size()))) {
      ClassicPlaces of_key(key, bits);
      for (unsigned i = 0; i < layout.hashes; ++i) {
        const std::uint64_t place = of_key.next() - first;
        if (place >= own) continue;
        __builtin_prefetch(&part[place / kClassicWordBits], 1);
        places[n++] = place;
      }
    }
    for (const std::uint64_t place : std::span(places).first(n)) {
      // relaxed: only this thread uses it.
      auto& word = part[place / kClassicWordBits];
      word.store(word.load(std::memory_order_relaxed) | ClassicBits::mask_of(place),
                 std::memory_order_relaxed);
    }
  }
}

constexpr std::string_view kPart = "a part of the filter";

}  // namespace

Result<ClassicBuilder> ClassicBuilder::create(const Options& options) {
  const auto layout = choose_classic_layout(options.filter);
  if (!layout) return tl::unexpected(layout.error());
  if (options.max_memory_bytes < kMinClassicBuilderMemory) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("building a classic filter needs at least 1 MiB of memory, not {} bytes",
                    options.max_memory_bytes));
  }
  auto temporary = TemporaryFile::create(options.path);
  if (!temporary) return tl::unexpected(temporary.error());
  auto writer = SnapshotWriter::begin(std::move(temporary->file));
  if (!writer) return tl::unexpected(writer.error());
  ClassicBuilder builder(options, *layout, {std::move(temporary->name), std::move(*writer)});
  // Allocates a part's memory only to check that it is available, so that a failure comes now and
  // not after the spooling.
  const std::uint64_t words = builder.chunks_per_part_ * kSnapshotChunkWords;
  if (const auto part = WordArray::allocate(std::min(words, layout->words), kPart); !part)
    return tl::unexpected(part.error());
  return builder;
}

ClassicBuilder::ClassicBuilder(const Options& options, const ClassicLayout& layout, Output output)
    : options_(options),
      layout_(layout),
      hash_(options.filter.hash ? *options.filter.hash : KeyedHash::random()),
      chunks_per_part_((options.max_memory_bytes - kBufferBytes) / kSnapshotChunkBytes),
      output_(std::move(output)) {
  assert(chunks_per_part_ > 0);
  buffer_.reserve(kBufferKeys);
}

Result<void> ClassicBuilder::add(std::span<const Fingerprint> keys) {
  const OneAtATime::Use use(using_);
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kBufferKeys - buffer_.size()));
    buffer_.insert(buffer_.end(), some.begin(), some.end());
    keys = keys.subspan(some.size());
    if (buffer_.size() < kBufferKeys) continue;
    if (auto spooled = spool_buffer(); !spooled) return spooled;
    if (spooled_ < options_.max_spool_bytes) continue;
    if (auto swept = sweep(); !swept) return swept;
  }
  return {};
}

Result<void> ClassicBuilder::spool_buffer() {
  if (buffer_.empty()) return {};
  assert(buffer_.size() <= kBufferKeys);
  if (!spool_) {
    // The name is removed immediately, so that the file vanishes with the process.
    auto file = TemporaryFile::create(options_.path + ".spool");
    if (!file) return tl::unexpected(file.error());
    spool_.emplace(std::move(file->file));
  }
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_.data()),
                               buffer_.size() * kKeyBytes);
  if (auto written = spool_->write(bytes); !written) return written;
  spooled_ += bytes.size();
  buffer_.clear();
  return {};
}

Result<void> ClassicBuilder::insert_spooled(const WordArray& part, std::uint64_t first_word,
                                            const std::function<void(double)>& tell) {
  std::vector<Fingerprint> keys(kBufferKeys);
  assert(spooled_ % kKeyBytes == 0);
  for (std::uint64_t at = 0; at < spooled_;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kBufferKeys * kKeyBytes, spooled_ - at);
    spool_->prefetch(at + bytes, bytes);
    auto read = spool_->read_at({reinterpret_cast<char*>(keys.data()), bytes}, at);
    if (!read) return read;
    insert_into_part(part, first_word, layout_, {keys.data(), bytes / kKeyBytes});
    at += bytes;
    tell(static_cast<double>(at) / static_cast<double>(spooled_));
  }
  return {};
}

Result<void> ClassicBuilder::go_through(const std::function<void(double)>& tell,
                                        const OnWords& use) {
  if (auto spooled = spool_buffer(); !spooled) return spooled;
  const std::uint64_t words_of_part = chunks_per_part_ * kSnapshotChunkWords;
  for (std::uint64_t first = 0; first < layout_.words; first += words_of_part) {
    const std::uint64_t first_chunk = first / kSnapshotChunkWords;
    const auto words =
        WordArray::allocate_unchecked(std::min(words_of_part, layout_.words - first), kPart);
    if (!words) return tl::unexpected(words.error());
    if (in_file_) {
      if (auto read = output_.writer.read_back(first_chunk, *words); !read) return read;
    }
    const auto tell_of_all = [&](double share) {
      if (!tell) return;
      const auto done = static_cast<double>(first) + share * static_cast<double>(words->size());
      tell(done / static_cast<double>(layout_.words));
    };
    if (auto inserted = insert_spooled(*words, first, tell_of_all); !inserted) return inserted;
    if (auto used = use(first_chunk, *words); !used) return used;
  }
  spool_.reset();
  spooled_ = 0;
  return {};
}

Result<void> ClassicBuilder::sweep() {
  auto swept =
      go_through(options_.on_sweep, [&](std::uint64_t first_chunk, const WordArray& words) {
        return output_.writer.set_aside(first_chunk, words);
      });
  in_file_ = true;
  return swept;
}

Result<void> ClassicBuilder::append(std::uint64_t first_chunk, const WordArray& words) {
  assert(first_chunk % chunks_per_part_ == 0);
  std::vector<std::uint64_t> chunk(kSnapshotChunkWords);
  for (std::uint64_t first = 0; first < words.size(); first += kSnapshotChunkWords) {
    const std::span<std::uint64_t> some(
        chunk.data(), std::min<std::uint64_t>(kSnapshotChunkWords, words.size() - first));
    words.copy(first, some);
    for (const std::uint64_t word : some)
      bits_set_ += static_cast<std::uint64_t>(std::popcount(word));
    auto written = output_.writer.append(first_chunk + first / kSnapshotChunkWords, some);
    if (!written) return written;
  }
  return {};
}

Result<FilterStats> ClassicBuilder::finish() {
  const OneAtATime::Use use(using_);
  auto written =
      go_through(options_.on_writing, [&](std::uint64_t first_chunk, const WordArray& words) {
        return append(first_chunk, words);
      });
  if (!written) return tl::unexpected(written.error());
  const SnapshotHeader made = header();
  auto published =
      output_.writer.finish(made).and_then([&](std::uint64_t) { return output_.name.publish(); });
  if (!published) return tl::unexpected(published.error());
  const SnapshotSection& section = made.sections.front();
  return classic_stats(section, static_cast<double>(bits_set_) / classic_places(section));
}

SnapshotHeader ClassicBuilder::header() const {
  assert(bits_set_ <= layout_.words * kClassicWordBits);
  const auto places = static_cast<double>(layout_.words * kClassicWordBits);
  const double fill = static_cast<double>(bits_set_) / places;
  const double keys = FillEstimator(places, layout_.hashes).admitted(fill);
  return {.kind = FilterKind::kClassic,
          .hash_key = hash_.key(),
          .capacity = options_.filter.capacity,
          .target_rate = layout_.target_rate,
          .sections = {{.words = layout_.words,
                        .capacity = options_.filter.capacity,
                        .target_rate = layout_.target_rate,
                        .inserted = static_cast<std::uint64_t>(std::round(keys)),
                        .hashes = layout_.hashes}}};
}

}  // namespace trawl
