#include "filter/snapshot/snapshot_reader.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include <fmt/format.h>

namespace trawl {

Result<SnapshotReader> SnapshotReader::open(const std::string& path, FilterKind kind) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto index = read_snapshot_index(*file);
  if (!index) return tl::unexpected(index.error());
  if (index->header.kind != kind) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} holds a {} filter, not a {} one", path,
                             name_of(index->header.kind), name_of(kind)));
  }
  if (kind != FilterKind::kGrowing && index->header.sections.size() != 1)
    return damaged_snapshot(path, "its parameters are impossible");
  return SnapshotReader(std::move(*file), std::move(*index));
}

Result<SnapshotReader> SnapshotReader::open_layer(const SnapshotHeader& header, std::size_t section,
                                                  const std::string& path) {
  const SnapshotSection& layer = header.sections[section];
  auto reader = open(layer_file_path(path, layer.file), FilterKind::kBlocked);
  if (!reader) return reader;
  if (auto same = check_layer_file(header, section, reader->index_, reader->path()); !same)
    return tl::unexpected(same.error());
  return reader;
}

Result<void> SnapshotReader::read_words(const StoreWords& store_words) const {
  return read_words(store_words, false);
}

Result<void> SnapshotReader::read_intact_words(const StoreWords& store_words) const {
  return read_words(store_words, true);
}

Result<void> SnapshotReader::read_words(const StoreWords& store_words, bool go_on) const {
  Result<void> result;
  std::vector<std::uint64_t> words(kSnapshotChunkWords);
  std::size_t section = 0;
  std::uint64_t first_chunk = 0;  // the section's
  for (std::size_t n = 0; n < index_.chunks.size(); ++n) {
    const SnapshotChunk& chunk = index_.chunks[n];
    const std::size_t size = index_.bytes_of(n);
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(size / sizeof words[0]), words.end(), 0);
    const auto bytes = file_.read_at(reinterpret_cast<char*>(words.data()), size,
                                     kSnapshotHeaderBytes + n * kSnapshotChunkBytes);
    if (!bytes) return tl::unexpected(bytes.error());
    const std::string_view view(reinterpret_cast<const char*>(words.data()), kSnapshotChunkBytes);
    if (*bytes < size || snapshot_chunk_checksum(chunk.index, view) != chunk.checksum) {
      auto damage = damaged_snapshot(file_.path(),
                                     fmt::format("the checksum of chunk {} is wrong", chunk.index));
      if (!go_on) return damage;
      if (result) result = std::move(damage);
      continue;
    }
    while (chunk.index - first_chunk >= header().sections[section].chunks())
      first_chunk += header().sections[section++].chunks();
    assert(section < header().sections.size());
    const std::uint64_t first = (chunk.index - first_chunk) * kSnapshotChunkWords;
    const auto count =
        std::min<std::uint64_t>(kSnapshotChunkWords, header().sections[section].words - first);
    store_words(section, first, {words.data(), count});
  }
  return result;
}

}  // namespace trawl
