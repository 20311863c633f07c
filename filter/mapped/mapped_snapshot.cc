#include "filter/mapped/mapped_snapshot.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace trawl {

Result<FileMapping> FileMapping::map(const InputFile& file) {
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  void* const memory = ::mmap(nullptr, *size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    return tl::unexpected(system_error(errno, "cannot map " + file.path() + " into memory"));
  // A key needs one page: disables read-ahead of its neighbours.
  ::madvise(memory, *size, MADV_RANDOM);
  return FileMapping(static_cast<const char*>(memory), *size);
}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

FileMapping::~FileMapping() {
  if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
}

void MappedSection::ask_for(std::uint64_t index) const noexcept {
  static const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const Word* const word = find(index);
  if (word == nullptr) return;
  const auto page = reinterpret_cast<std::uintptr_t>(word) / page_bytes * page_bytes;
  ::madvise(reinterpret_cast<void*>(page), page_bytes, MADV_WILLNEED);  // only a hint: errors are
                                                                        // ignored
}

Result<MappedSnapshot> MappedSnapshot::open(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto index = read_snapshot_index(*file);
  if (!index) return tl::unexpected(index.error());
  auto places = WordArray::allocate(index->header.chunks(), "the table of chunks of " + path);
  if (!places) return tl::unexpected(places.error());
  auto mapping = FileMapping::map(*file);
  if (!mapping) return tl::unexpected(mapping.error());
  for (std::size_t n = 0; n < index->chunks.size(); ++n) {
    (*places)[index->chunks[n].index].store(kSnapshotHeaderBytes + n * kSnapshotChunkBytes,
                                            std::memory_order_relaxed);
  }
  return MappedSnapshot(std::move(*file), std::move(*index), std::move(*mapping),
                        std::move(*places));
}

Result<MappedSnapshot> MappedSnapshot::open_layer(std::size_t section) const {
  auto layer = open(layer_file_path(path(), header().sections[section].file));
  if (!layer) return layer;
  if (auto same = check_layer_file(header(), section, layer->index_, layer->path()); !same)
    return tl::unexpected(same.error());
  return layer;
}

MappedSection MappedSnapshot::section(std::size_t number) const noexcept {
  assert(number < header().sections.size());
  std::uint64_t first_chunk = 0;
  for (std::size_t i = 0; i < number; ++i)
    first_chunk += header().sections[i].chunks();
  return {mapping_.bytes(), places_.data() + first_chunk, header().sections[number].words};
}

Result<void> MappedSnapshot::verify() const {
  ::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<char> bytes(kSnapshotChunkBytes);
  for (std::size_t n = 0; n < index_.chunks.size(); ++n) {
    const SnapshotChunk& chunk = index_.chunks[n];
    // Reads the file instead of the mapping, so that an I/O error can be reported.
    const std::size_t size = index_.bytes_of(n);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), '\0');
    const auto read =
        file_.read_at(bytes.data(), size, kSnapshotHeaderBytes + n * kSnapshotChunkBytes);
    if (!read) return tl::unexpected(read.error());
    if (*read < size ||
        snapshot_chunk_checksum(chunk.index, {bytes.data(), bytes.size()}) != chunk.checksum) {
      return damaged_snapshot(path(),
                              fmt::format("the checksum of chunk {} is wrong", chunk.index));
    }
  }
  return {};
}

}  // namespace trawl
