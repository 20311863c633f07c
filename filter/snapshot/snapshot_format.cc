#include "filter/snapshot/snapshot_format.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLFLT";
constexpr std::string_view kFirstMagic = "TRAWLBBF";  // version 1
constexpr std::uint32_t kFirstVersion = 2;            // the first version with kMagic
constexpr std::uint32_t kFirstCutVersion = 3;         // before it, the last chunk was whole
constexpr std::uint32_t kFirstFilesVersion = 4;       // sections may be in files of their own
constexpr std::string_view kEndMagic = "TRAWLEND";
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kEntryBytes = 8 + 8;
constexpr std::size_t kEndBytes = 8 + 8 + 8 + 8;  // magic, chunks, checksums of directory and end
constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 57;

std::uint64_t checksum(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t fixed_at(std::string_view bytes, std::size_t at) {
  return Decoder(bytes.substr(at)).fixed<std::uint64_t>();
}

bool plausible(const SnapshotSection& section) {
  return section.words > 0 && section.words < kMaxWords && section.capacity > 0 &&
         section.target_rate > 0 && section.target_rate < 1;
}

// Only leading sections are in files of their own, and only the layers of a growing filter.
bool has_possible_files(const SnapshotHeader& header) {
  bool in_this_file = false;
  for (const SnapshotSection& section : header.sections) {
    if (section.file != 0 && (in_this_file || header.kind != FilterKind::kGrowing)) return false;
    if (section.file == 0 && section.file_identity != 0) return false;
    in_this_file |= section.file == 0;
  }
  return in_this_file;
}

Result<SnapshotHeader> decode_fields(Decoder& in, std::uint32_t version, const std::string& path) {
  SnapshotHeader header;
  header.kind = static_cast<FilterKind>(in.fixed<std::uint32_t>());
  for (auto& byte : header.hash_key)
    byte = in.fixed<std::uint8_t>();
  header.capacity = in.fixed<std::uint64_t>();
  header.target_rate = in.fixed<double>();
  const auto sections = in.fixed<std::uint32_t>();
  header.hash_algorithm = in.fixed<std::uint32_t>();
  if (name_of(header.kind) == "unknown")
    return damaged_snapshot(path, "its kind of filter is unknown");
  bool possible = header.capacity > 0 && header.target_rate > 0 && header.target_rate < 1 &&
                  sections > 0 && sections <= kMaxSnapshotSections;
  for (std::uint32_t i = 0; possible && i < sections; ++i) {
    SnapshotSection section;
    section.words = in.fixed<std::uint64_t>();
    section.capacity = in.fixed<std::uint64_t>();
    section.target_rate = in.fixed<double>();
    section.inserted = in.fixed<std::uint64_t>();
    section.hashes = in.fixed<std::uint32_t>();
    section.detail = in.fixed<std::uint32_t>();
    if (version >= kFirstFilesVersion) {
      section.file = in.fixed<std::uint64_t>();
      section.file_identity = in.fixed<std::uint64_t>();
    }
    possible = plausible(section);
    header.sections.push_back(section);
  }
  possible = possible && has_possible_files(header);
  if (!possible) return damaged_snapshot(path, "its parameters are impossible");
  if (header.hash_algorithm != KeyedHash::kAlgorithm) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format(
            "{} was made with hash algorithm {}; this version of Trawl has algorithm {}: build "
            "the filter again",
            path, header.hash_algorithm, KeyedHash::kAlgorithm));
  }
  return header;
}

Result<SnapshotHeader> decode_header(std::string_view bytes, std::uint32_t& version,
                                     const std::string& path) {
  if (bytes.starts_with(kFirstMagic)) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("{} has snapshot version 1; this version of Trawl reads version {}: build the "
                    "filter again, or read it with Trawl 0.1",
                    path, kSnapshotVersion));
  }
  if (!bytes.starts_with(kMagic.substr(0, bytes.size())) || bytes.empty())
    return error(ErrorCode::kCorrupt,
                 path + " is damaged or not a filter file: its first bytes are wrong");
  if (bytes.size() < kSnapshotHeaderBytes) return damaged_snapshot(path, "its header is cut short");
  // The checksum comes before the version, so that a damaged version number is reported as damage.
  // Every version from 2 on has a header of this size.
  const auto covered = bytes.substr(0, kSnapshotHeaderBytes - kChecksumBytes);
  if (fixed_at(bytes, covered.size()) != checksum(covered))
    return damaged_snapshot(path, "the checksum of its header is wrong");
  Decoder in(bytes.substr(kMagic.size()));
  version = in.fixed<std::uint32_t>();
  if (version < kFirstVersion)
    return damaged_snapshot(path, fmt::format("version {} does not exist", version));
  if (version > kSnapshotVersion) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format(
            "{} has snapshot version {}; this version of Trawl reads version {}: use a newer "
            "one",
            path, version, kSnapshotVersion));
  }
  return decode_fields(in, version, path);
}

// Verifies the end mark and returns the directory's bytes, for at most `most` chunks. May throw
// std::bad_alloc.
Result<std::string> read_directory(const InputFile& file, std::uint64_t size, std::uint64_t most) {
  const auto cut_short = [&] {
    return damaged_snapshot(file.path(), "its end mark is wrong: it is cut short, or bytes follow");
  };
  if (size < kSnapshotHeaderBytes + kEndBytes) return cut_short();
  std::string end(kEndBytes, '\0');
  auto n = file.read_at(end.data(), end.size(), size - kEndBytes);
  if (!n) return tl::unexpected(n.error());
  if (*n != kEndBytes || !end.starts_with(kEndMagic) ||
      fixed_at(end, 24) != checksum(std::string_view(end).substr(0, 24))) {
    return cut_short();
  }
  const std::uint64_t chunks = fixed_at(end, 8);
  const std::uint64_t rest = size - kSnapshotHeaderBytes - kEndBytes;
  constexpr std::uint64_t kBytesPerChunk = kSnapshotChunkBytes + kEntryBytes;
  // The last chunk may be shorter.
  if (rest / kBytesPerChunk + (rest % kBytesPerChunk != 0 ? 1 : 0) != chunks) return cut_short();
  if (rest < chunks * kEntryBytes) return cut_short();
  if (chunks > most) {
    return damaged_snapshot(file.path(),
                            fmt::format("it has {} chunks, its header room for {}", chunks, most));
  }
  std::string directory(chunks * kEntryBytes, '\0');
  n = file.read_at(directory.data(), directory.size(), size - kEndBytes - directory.size());
  if (!n) return tl::unexpected(n.error());
  if (*n != directory.size() || fixed_at(end, 16) != checksum(directory))
    return damaged_snapshot(file.path(), "the checksum of its directory is wrong");
  return directory;
}

// Reads the directory of a file whose sections have `all` chunks. May throw std::bad_alloc.
Result<std::vector<SnapshotChunk>> read_chunks(const InputFile& file, std::uint64_t size,
                                               std::uint64_t all) {
  const auto directory = read_directory(file, size, all);
  if (!directory) return tl::unexpected(directory.error());
  std::vector<SnapshotChunk> chunks;
  chunks.reserve(directory->size() / kEntryBytes);
  std::uint64_t next_index = 0;
  for (Decoder in(*directory); !in.rest().empty();) {
    const SnapshotChunk chunk{in.fixed<std::uint64_t>(), in.fixed<std::uint64_t>()};
    if (chunk.index < next_index || chunk.index >= all) {
      return damaged_snapshot(file.path(),
                              fmt::format("its directory has an impossible chunk {}", chunk.index));
    }
    next_index = chunk.index + 1;
    chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace

std::uint64_t SnapshotHeader::chunks() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& section : sections)
    sum += section.chunks();
  return sum;
}

std::string encode_snapshot_header(const SnapshotHeader& header) {
  const bool has_files = std::ranges::any_of(
      header.sections, [](const SnapshotSection& section) { return section.file != 0; });
  std::string out(kMagic);
  put_fixed(out, has_files ? kFirstFilesVersion : kFirstCutVersion);
  put_fixed(out, static_cast<std::uint32_t>(header.kind));
  for (const auto byte : header.hash_key)
    put_fixed(out, byte);
  put_fixed(out, header.capacity);
  put_fixed(out, header.target_rate);
  put_fixed(out, static_cast<std::uint32_t>(header.sections.size()));
  put_fixed(out, header.hash_algorithm);
  for (const auto& section : header.sections) {
    put_fixed(out, section.words);
    put_fixed(out, section.capacity);
    put_fixed(out, section.target_rate);
    put_fixed(out, section.inserted);
    put_fixed(out, section.hashes);
    put_fixed(out, section.detail);
    if (!has_files) continue;
    put_fixed(out, section.file);
    put_fixed(out, section.file_identity);
  }
  assert(out.size() <= kSnapshotHeaderBytes - kChecksumBytes);
  out.resize(kSnapshotHeaderBytes - kChecksumBytes, '\0');
  put_fixed(out, checksum(out));
  return out;
}

std::string encode_snapshot_directory(const std::vector<SnapshotChunk>& chunks) {
  std::string directory;
  for (const auto& chunk : chunks) {
    put_fixed(directory, chunk.index);
    put_fixed(directory, chunk.checksum);
  }
  std::string end(kEndMagic);
  put_fixed(end, static_cast<std::uint64_t>(chunks.size()));
  put_fixed(end, checksum(directory));
  put_fixed(end, checksum(end));
  return directory + end;
}

std::size_t snapshot_words_of(const SnapshotHeader& header, std::uint64_t index) noexcept {
  for (const SnapshotSection& section : header.sections) {
    if (index < section.chunks()) {
      return std::min<std::uint64_t>(kSnapshotChunkWords,
                                     section.words - index * kSnapshotChunkWords);
    }
    index -= section.chunks();
  }
  return kSnapshotChunkWords;
}

std::size_t SnapshotIndex::bytes_of(std::size_t n) const noexcept {
  assert(n < chunks.size());
  if (n + 1 < chunks.size() || version < kFirstCutVersion) return kSnapshotChunkBytes;
  return snapshot_words_of(header, chunks[n].index) * sizeof(std::uint64_t);
}

std::uint64_t snapshot_file_bytes(const SnapshotSection& section) noexcept {
  return kSnapshotHeaderBytes + section.words * sizeof(std::uint64_t) +
         section.chunks() * kEntryBytes + kEndBytes;
}

std::uint64_t snapshot_chunk_checksum(std::uint64_t index, std::string_view bytes) noexcept {
  assert(bytes.size() == kSnapshotChunkBytes);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), index);
}

Result<SnapshotIndex> read_snapshot_index(const InputFile& file) {
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  std::string bytes(kSnapshotHeaderBytes, '\0');
  auto n = file.read_at(bytes.data(), bytes.size(), 0);
  if (!n) return tl::unexpected(n.error());
  SnapshotIndex index;
  auto header = decode_header(std::string_view(bytes).substr(0, *n), index.version, file.path());
  if (!header) return tl::unexpected(header.error());
  index.header = std::move(*header);

  try {
    auto chunks = read_chunks(file, *size, index.header.chunks());
    if (!chunks) return tl::unexpected(chunks.error());
    index.chunks = std::move(*chunks);
    const std::size_t n = index.chunks.size();
    const std::uint64_t last = n == 0 ? 0 : index.bytes_of(n - 1);
    const std::uint64_t whole = n == 0 ? 0 : (n - 1) * kSnapshotChunkBytes;
    if (*size != kSnapshotHeaderBytes + whole + last + n * kEntryBytes + kEndBytes)
      return damaged_snapshot(file.path(), "its last chunk is cut short, or bytes follow");
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::kNoSpace, "not enough memory for the directory of " + file.path());
  }
  return index;
}

std::uint64_t identity_of(const SnapshotIndex& filter) {
  return checksum(encode_snapshot_header(filter.header) + encode_snapshot_directory(filter.chunks));
}

Result<void> check_layer_file(const SnapshotHeader& header, std::size_t section,
                              const SnapshotIndex& file, const std::string& path) {
  const SnapshotSection& layer = header.sections[section];
  // The identity covers the file's header; the size is compared for files that were made to have
  // it.
  if (identity_of(file) == layer.file_identity && file.header.sections.size() == 1 &&
      file.header.sections.front().words == layer.words)
    return {};
  return damaged_snapshot(
      path, fmt::format("it is not layer {} of the filter that refers to it", section + 1));
}

std::string layer_file_path(const std::string& path, std::uint64_t number) {
  return (std::filesystem::path(path).parent_path() / fmt::format("filter-{:06}.layer", number))
      .string();
}

tl::unexpected<Error> damaged_snapshot(const std::string& path, const std::string& why) {
  return error(ErrorCode::kCorrupt, fmt::format("{} is damaged: {}", path, why));
}

}  // namespace trawl
