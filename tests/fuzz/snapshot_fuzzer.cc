// The input as a file that is said to be a filter: no crash, no hang, no more memory than it should
// take, sane answers. Checksums would turn away all but every input, so a second file is made of it
// that has them right: the first bytes are the fields of its header, each 16 bytes after them a
// chunk, its index and the word that fills it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/mapped_filter.h"

#include "base/mix.h"
#include "filter/snapshot/snapshot_format.h"

namespace {

using namespace trawl;

// A filter that claims more is left out, since it may have it; one that claims more than the next
// is not asked for its statistics, which look at much of it.
constexpr std::uint64_t kMaxChunks = (256u << 20) / kSnapshotChunkBytes;
constexpr std::uint64_t kFewChunks = (8u << 20) / kSnapshotChunkBytes;

void check(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "the check in line %d does not hold\n", line);
  std::abort();
}

// A file in memory.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("snapshot", MFD_CLOEXEC)) { check(fd_ >= 0); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void write(std::string_view bytes) {
    check(::ftruncate(fd_, 0) == 0);
    check(::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  int fd_;
};

std::array<Fingerprint, 40> some_keys() {
  std::array<Fingerprint, 40> keys;
  for (std::uint64_t i = 0; i < keys.size(); ++i)
    keys[i] = {.high = mix64(2 * i + 1), .low = mix64(2 * i + 2)};
  return keys;
}

void check_stats(const FilterStats& stats) {
  check(stats.current_rate >= 0 && stats.current_rate <= 1);
  check(stats.fill >= 0 && stats.fill <= 1);
  check(stats.expected_false_positives >= 0);
  check(stats.hashes > 0 && stats.layers > 0 && stats.memory_bytes > 0);
}

void check_error(const Error& error, const std::string& path) {
  check(error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupportedVersion ||
        error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNoSpace);
  check(error.code == ErrorCode::kNoSpace || error.message.find(path) != std::string::npos);
}

template <class Filter>
std::vector<bool> ask(const Filter& filter) {
  static const auto keys = some_keys();
  std::array<bool, keys.size()> found;
  const std::size_t count = filter.contains_batch(keys, found);
  check(count == static_cast<std::size_t>(std::ranges::count(found, true)));
  check(found.front() == filter.contains(keys.front()));
  return std::vector<bool>(found.begin(), found.end());
}

// What the filter answers, if it can be loaded.
template <class Filter>
std::optional<std::vector<bool>> try_load(const std::string& path, bool is_small) {
  auto filter = Filter::load(path);
  if (!filter) {
    check_error(filter.error(), path);
    return std::nullopt;
  }
  auto answers = ask(*filter);
  if (is_small) check_stats(filter->stats());
  for (const Fingerprint key : some_keys()) {
    const Result<bool> inserted = filter->insert(key);
    if (inserted) check(filter->contains(key));
  }
  return answers;
}

std::optional<std::vector<bool>> try_map(const std::string& path, bool is_small, bool& verified) {
  const auto filter = MappedFilter::open(path);
  if (!filter) {
    check_error(filter.error(), path);
    return std::nullopt;
  }
  if (is_small) check_stats(filter->stats());
  const auto intact = filter->verify();
  if (!intact) check_error(intact.error(), path);
  verified = intact.has_value();
  return ask(*filter);
}

void try_file(const std::string& path) {
  bool is_small = false;
  {
    const auto file = InputFile::open(path);
    check(file.has_value());
    const auto index = read_snapshot_index(*file);
    if (index && index->header.chunks() > kMaxChunks) return;
    is_small = index && index->header.chunks() <= kFewChunks;
  }
  const std::array loaded{
      try_load<BlockedBloomFilter>(path, is_small), try_load<GrowingBloomFilter>(path, is_small),
      try_load<ClassicBloomFilter>(path, is_small), try_load<CountingBloomFilter>(path, is_small),
      try_load<CuckooFilter>(path, is_small)};
  bool verified = false;
  const auto mapped = try_map(path, is_small, verified);
  for (const auto& answers : loaded) {
    if (!answers) continue;
    check(mapped.has_value() && verified);
    check(*answers == *mapped);
  }
}

std::string with_right_checksums(std::string_view input) {
  constexpr std::size_t kChecksumBytes = 8;
  constexpr std::size_t kMaxFields = 256;
  constexpr std::size_t kMaxChunksMade = 6;
  std::string bytes(input.substr(0, kMaxFields));
  input.remove_prefix(bytes.size());
  bytes.resize(kSnapshotHeaderBytes - kChecksumBytes, '\0');
  bytes.replace(0, 8, "TRAWLFLT");
  bytes.replace(8, 4, std::string("\2\0\0\0", 4));
  std::memcpy(bytes.data() + 52, &KeyedHash::kAlgorithm, 4);
  const std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);

  std::vector<SnapshotChunk> directory;
  while (input.size() >= 16 && directory.size() < kMaxChunksMade) {
    std::uint64_t index = 0, word = 0;
    std::memcpy(&index, input.data(), 8);
    std::memcpy(&word, input.data() + 8, 8);
    input.remove_prefix(16);
    const std::vector<std::uint64_t> words(kSnapshotChunkWords, word);
    const std::string_view chunk(reinterpret_cast<const char*>(words.data()), kSnapshotChunkBytes);
    directory.push_back({index, snapshot_chunk_checksum(index, chunk)});
    bytes += chunk;
  }
  return bytes + encode_snapshot_directory(directory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MemoryFile file;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  file.write(input);
  try_file(file.path());
  file.write(with_right_checksums(input));
  try_file(file.path());
  return 0;
}
