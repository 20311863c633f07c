// The file format of all filters: a header, chunks of 64 KiB without those that are all zero, and a
// directory of the chunks. docs/formats.md specifies it byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/filter.h"

#include "base/file_io.h"

namespace trawl {

// The newest version. It is written only if a section is in a file of its own; without one, files
// have version 3. Version 2, which can also be read, has only whole chunks, and other layers of
// growing filters.
inline constexpr std::uint32_t kSnapshotVersion = 4;
inline constexpr std::size_t kSnapshotHeaderBytes = 4096;
inline constexpr std::size_t kSnapshotChunkBytes = 64 * 1024;
inline constexpr std::size_t kSnapshotChunkWords = kSnapshotChunkBytes / sizeof(std::uint64_t);
inline constexpr std::size_t kMaxSnapshotSections = 64;

// One array of words: a whole filter, or a layer of a growing filter.
struct SnapshotSection {
  std::uint64_t words = 0;
  std::uint64_t capacity = 0;
  double target_rate = 0;
  std::uint64_t inserted = 0;
  std::uint32_t hashes = 0;  // bits or counters per key (k)
  std::uint32_t detail = 0;  // a parameter that depends on the kind
  // A layer of a growing filter that no longer changes: its words are in layer_file_path(), and
  // none of its chunks is in this file. 0: they are in this file.
  std::uint64_t file = 0;
  std::uint64_t file_identity = 0;  // identity_of() that file
  // In this file.
  std::uint64_t chunks() const noexcept {
    return file != 0 ? 0 : (words + kSnapshotChunkWords - 1) / kSnapshotChunkWords;
  }
};

struct SnapshotHeader {
  FilterKind kind = FilterKind::kBlocked;
  KeyedHash::Key hash_key = {};
  std::uint32_t hash_algorithm = KeyedHash::kAlgorithm;
  std::uint64_t capacity = 0;  // of the whole filter, as requested
  double target_rate = 0;
  std::vector<SnapshotSection> sections;
  std::uint64_t chunks() const noexcept;
};

// A chunk of the file; the n-th is at kSnapshotHeaderBytes + n * 64 KiB.
struct SnapshotChunk {
  std::uint64_t index;  // among the chunks of all sections in order
  std::uint64_t checksum;
};

struct SnapshotIndex {
  std::uint32_t version = 0;
  SnapshotHeader header;
  std::vector<SnapshotChunk> chunks;  // by ascending index
  // The bytes of the n-th chunk in the file: the last one ends with the words of its section.
  std::size_t bytes_of(std::size_t n) const noexcept;
};

std::string encode_snapshot_header(const SnapshotHeader& header);
// The part after the last chunk: the directory and the end mark.
std::string encode_snapshot_directory(const std::vector<SnapshotChunk>& chunks);
// The number of words of a section in the chunk at `index`; a whole chunk's if there is no such
// chunk.
std::size_t snapshot_words_of(const SnapshotHeader& header, std::uint64_t index) noexcept;
// The size of a file with one section and all of its chunks.
std::uint64_t snapshot_file_bytes(const SnapshotSection& section) noexcept;
// The checksum of a chunk's 64 KiB, including zeros that the file leaves out.
std::uint64_t snapshot_chunk_checksum(std::uint64_t index, std::string_view bytes) noexcept;

// Reads and verifies everything except the chunks. Errors: kCorrupt, kUnsupportedVersion, kIo;
// kNoSpace if there is no memory for the directory.
Result<SnapshotIndex> read_snapshot_index(const InputFile& file);

// A 64-bit digest of a filter's file: of its header and the checksums of its chunks.
std::uint64_t identity_of(const SnapshotIndex& filter);
// Whether `file`, at `path`, is the file of that section of a snapshot. Errors: kCorrupt.
Result<void> check_layer_file(const SnapshotHeader& header, std::size_t section,
                              const SnapshotIndex& file, const std::string& path);
// "filter-000007.layer" in the directory of the snapshot at `path`.
std::string layer_file_path(const std::string& path, std::uint64_t number);

// kCorrupt: "<path> is damaged: <why>".
tl::unexpected<Error> damaged_snapshot(const std::string& path, const std::string& why);

}  // namespace trawl
