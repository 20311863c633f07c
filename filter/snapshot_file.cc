#include "filter/snapshot_file.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "filter/block_layout.h"
#include "filter/coding.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLBBF";
constexpr std::uint32_t kVersion = 1;
// magic, version, bits per key, capacity, rate, blocks, inserted, checksum of all before
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8 + 8 + 8 + 8;
// index, checksum of index and data
constexpr std::size_t kChunkHeaderBytes = 8 + 8;
constexpr std::uint64_t kEndMark = ~std::uint64_t{0};
constexpr std::size_t kChunkWords = kSnapshotChunkBytes / sizeof(std::uint64_t);

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string_view bytes_of(std::span<const std::uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

std::string encode_header(const SnapshotHeader& header) {
  std::string out(kMagic);
  put_fixed(out, kVersion);
  put_fixed(out, header.bits_per_key);
  put_fixed(out, header.capacity);
  put_fixed(out, header.target_rate);
  put_fixed(out, header.blocks);
  put_fixed(out, header.inserted);
  put_fixed(out, checksum(out));
  return out;
}

tl::unexpected<Error> corrupt(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kCorrupt, fmt::format("{} is damaged: {}", path, why));
}

Result<SnapshotHeader> decode_header(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kHeaderBytes) return corrupt(path, "its header is cut short");
  if (!bytes.starts_with(kMagic)) return corrupt(path, "it is no filter snapshot");
  // The checksum first: a damaged version is damage, not a version. Every version begins with these
  // bytes.
  if (Decoder(bytes.substr(kHeaderBytes - 8)).fixed<std::uint64_t>() !=
      checksum(bytes.substr(0, kHeaderBytes - 8))) {
    return corrupt(path, "the checksum of its header is wrong");
  }
  Decoder in(bytes.substr(kMagic.size()));
  if (const auto version = in.fixed<std::uint32_t>(); version > kVersion) {
    return fail(ErrorCode::kUnsupportedVersion,
                fmt::format("{} has snapshot version {}; this Trawl reads up to version {}: use a "
                            "newer one",
                            path, version, kVersion));
  }
  SnapshotHeader header;
  header.bits_per_key = in.fixed<std::uint32_t>();
  header.capacity = in.fixed<std::uint64_t>();
  header.target_rate = in.fixed<double>();
  header.blocks = in.fixed<std::uint64_t>();
  header.inserted = in.fixed<std::uint64_t>();
  if (header.bits_per_key == 0 || header.bits_per_key > kBitsPerBlock || header.blocks == 0 ||
      header.blocks >> 54 != 0) {
    return corrupt(path, "its parameters are impossible");
  }
  return header;
}

}  // namespace

Result<std::uint64_t> write_snapshot(
    const std::string& path, const SnapshotHeader& header,
    const std::function<void(std::uint64_t, std::span<std::uint64_t>)>& copy_words) {
  auto file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(encode_header(header)); !written) {
    return tl::unexpected(written.error());
  }
  const std::uint64_t words = header.blocks * kWordsPerBlock;
  std::vector<std::uint64_t> chunk(kChunkWords);
  std::string record;
  std::uint64_t chunks_written = 0;
  for (std::uint64_t first = 0; first < words; first += kChunkWords) {
    const std::span<std::uint64_t> part(chunk.data(), std::min(kChunkWords, words - first));
    copy_words(first, part);
    if (std::all_of(part.begin(), part.end(), [](std::uint64_t word) { return word == 0; }))
      continue;
    const std::uint64_t index = first / kChunkWords;
    record.clear();
    put_fixed(record, index);
    put_fixed(record, checksum(bytes_of(part), index));
    record.append(bytes_of(part));
    if (auto written = file->write(record); !written) return tl::unexpected(written.error());
    ++chunks_written;
  }
  record.clear();
  put_fixed(record, kEndMark);
  put_fixed(record, chunks_written);
  put_fixed(record, checksum(record));
  if (auto done = file->write(record).and_then([&] { return file->sync(); }); !done) {
    return tl::unexpected(done.error());
  }
  return file->size();
}

Result<SnapshotReader> SnapshotReader::open(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  char bytes[kHeaderBytes];
  auto n = file->read(bytes, sizeof bytes);
  if (!n) return tl::unexpected(n.error());
  auto header = decode_header({bytes, *n}, path);
  if (!header) return tl::unexpected(header.error());
  return SnapshotReader(std::move(*file), *header);
}

Result<void> SnapshotReader::read_chunks(
    const std::function<void(std::uint64_t, std::span<const std::uint64_t>)>& store_words) {
  const std::uint64_t words = header_.blocks * kWordsPerBlock;
  std::vector<std::uint64_t> chunk(kChunkWords);
  std::uint64_t chunks_read = 0;
  std::uint64_t next_index = 0;
  for (;;) {
    char head[kChunkHeaderBytes];
    auto n = file_.read(head, sizeof head);
    if (!n) return tl::unexpected(n.error());
    if (*n < sizeof head)
      return corrupt(file_.path(), fmt::format("it ends after chunk {}", chunks_read));
    Decoder in({head, sizeof head});
    const auto index = in.fixed<std::uint64_t>();
    const auto expected = in.fixed<std::uint64_t>();
    if (index == kEndMark) {
      char trailer[8 + 1];  // one more than there may be, to notice bytes behind the end
      n = file_.read(trailer, sizeof trailer);
      if (!n) return tl::unexpected(n.error());
      if (*n != 8 ||
          Decoder({trailer, 8}).fixed<std::uint64_t>() != checksum({head, sizeof head}) ||
          expected != chunks_read) {
        return corrupt(file_.path(), "its end mark is wrong");
      }
      return {};
    }
    // Chunks come in ascending order, so that each part of the filter is written at most once.
    if (index < next_index || index > (words - 1) / kChunkWords) {
      return corrupt(file_.path(), fmt::format("chunk {} has an impossible index", chunks_read));
    }
    next_index = index + 1;
    const std::uint64_t first = index * kChunkWords;
    const std::span<std::uint64_t> part(chunk.data(), std::min(kChunkWords, words - first));
    n = file_.read(reinterpret_cast<char*>(part.data()), part.size_bytes());
    if (!n) return tl::unexpected(n.error());
    if (*n < part.size_bytes() || checksum(bytes_of(part), index) != expected) {
      return corrupt(file_.path(), fmt::format("the checksum of chunk {} is wrong", index));
    }
    store_words(first, part);
    ++chunks_read;
  }
}

}  // namespace trawl
