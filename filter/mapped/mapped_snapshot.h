// MappedSnapshot: access to a snapshot's words in its mapped file.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <string>
#include <utility>

#include "base/file_io.h"
#include "filter/bits/word_array.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// A whole file mapped read-only, unmapped by the destructor.
class FileMapping {
 public:
  static Result<FileMapping> map(const InputFile& file);
  FileMapping(FileMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();
  const char* bytes() const noexcept { return bytes_; }

 private:
  FileMapping(const char* bytes, std::uint64_t size) : bytes_(bytes), size_(size) {}
  const char* bytes_;
  std::uint64_t size_;
};

// The words of one section. Valid while its MappedSnapshot exists, even if that is moved.
class MappedSection {
 public:
  // Atomics only because the filters' kernels read such; nothing writes them.
  using Word = std::atomic<std::uint64_t>;

  MappedSection(const char* file, const Word* places, std::uint64_t words)
      : file_(file), places_(places), words_(words) {}
  std::uint64_t words() const noexcept { return words_; }
  // The word at `index`, followed by the other words of its chunk; null if the chunk is not in the
  // file because all its words are zero.
  const Word* find(std::uint64_t index) const noexcept {
    assert(index < words_);
    const std::uint64_t place =
        places_[index / kSnapshotChunkWords].load(std::memory_order_relaxed);
    if (place == 0) return nullptr;
    return reinterpret_cast<const Word*>(file_ + place) + index % kSnapshotChunkWords;
  }
  // Starts reading the page of that word, without waiting.
  void ask_for(std::uint64_t index) const noexcept;
  std::uint64_t load(std::uint64_t index) const noexcept {
    const Word* const word = find(index);
    return word == nullptr ? 0 : word->load(std::memory_order_relaxed);
  }

 private:
  const char* file_;
  const Word* places_;
  std::uint64_t words_;
};

class MappedSnapshot {
 public:
  // Reads and verifies everything except the chunks. Errors: kNotFound, kCorrupt,
  // kUnsupportedVersion, kIo, kNoSpace.
  static Result<MappedSnapshot> open(const std::string& path);

  // Opens the file of a section that is not in the snapshot itself. Errors: as open(); kCorrupt if
  // the file is another one.
  Result<MappedSnapshot> open_layer(std::size_t section) const;

  const SnapshotHeader& header() const noexcept { return index_.header; }
  const std::string& path() const noexcept { return file_.path(); }
  MappedSection section(std::size_t number) const noexcept;
  // Reads all chunks. Errors: kCorrupt with the damaged chunk's number, kIo.
  Result<void> verify() const;

 private:
  MappedSnapshot(InputFile file, SnapshotIndex index, FileMapping mapping, WordArray places)
      : file_(std::move(file)),
        index_(std::move(index)),
        mapping_(std::move(mapping)),
        places_(std::move(places)) {}
  InputFile file_;
  SnapshotIndex index_;
  FileMapping mapping_;
  // For each chunk of the sections its offset in the file, or 0. A WordArray, since a damaged file
  // may claim many chunks and untouched pages take no memory.
  WordArray places_;
};

}  // namespace trawl
