// SnapshotFile: a filter snapshot in parts, to be put together wrong with all checksums right.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_io.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl::test {

inline void write_contents(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

// Flips bits of one byte, in place.
inline void flip_byte(const std::string& path, std::size_t at, char bits) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  char byte = 0;
  const auto offset = static_cast<off_t>(at);
  if (::pread(file.get(), &byte, 1, offset) != 1) std::abort();
  byte = static_cast<char>(byte ^ bits);
  if (::pwrite(file.get(), &byte, 1, offset) != 1) std::abort();
}

struct SnapshotFile {
  struct Chunk {
    std::uint64_t index;
    std::string bytes;
  };
  SnapshotHeader header;
  std::vector<Chunk> chunks;

  static SnapshotFile read(const std::string& path) {
    const InputFile file = InputFile::open(path).value();
    const SnapshotIndex index = read_snapshot_index(file).value();
    SnapshotFile parts{index.header, {}};
    for (std::size_t n = 0; n < index.chunks.size(); ++n) {
      std::string bytes(kSnapshotChunkBytes, '\0');
      file.read_at(bytes.data(), index.bytes_of(n), kSnapshotHeaderBytes + n * kSnapshotChunkBytes)
          .value();
      parts.chunks.push_back({index.chunks[n].index, std::move(bytes)});
    }
    return parts;
  }

  std::string bytes() const {
    std::string all = encode_snapshot_header(header);
    std::vector<SnapshotChunk> directory;
    for (const Chunk& chunk : chunks) {
      const std::size_t in_file = &chunk == &chunks.back()
                                      ? 8 * snapshot_words_of(header, chunk.index)
                                      : kSnapshotChunkBytes;
      all += chunk.bytes.substr(0, in_file);
      directory.push_back({chunk.index, snapshot_chunk_checksum(chunk.index, chunk.bytes)});
    }
    return all + encode_snapshot_directory(directory);
  }
  void write(const std::string& path) const { write_contents(path, bytes()); }
};

}  // namespace trawl::test
