// SnapshotWriter: writes snapshots, one chunk after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trawl/snapshot_pace.h"

#include "base/file_io.h"
#include "filter/bits/word_array.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// For filters that are built part by part; the header may be known only at the end.
class SnapshotWriter {
 public:
  // Creates or truncates `path`; it is not a valid snapshot until finish().
  static Result<SnapshotWriter> create(const std::string& path);
  // The same in a newly created file.
  static Result<SnapshotWriter> begin(OutputFile file);
  // Appends the chunk at `index`, which must be above those appended before. At most
  // kSnapshotChunkWords words, and fewer only at the end of a section; the rest of the chunk is
  // zero, and written only if another chunk follows. Requests write-back of the appended data, a
  // few MiB behind.
  Result<void> append(std::uint64_t index, std::span<const std::uint64_t> words);
  // Stores the words of chunks from `index` on that will be appended later, at an offset after
  // everything that is appended before them. read_back() returns them until a chunk from `index` on
  // is appended; prefetch() starts reading them.
  Result<void> set_aside(std::uint64_t index, const WordArray& words);
  Result<void> read_back(std::uint64_t index, const WordArray& words) const;
  void prefetch(std::uint64_t index, std::uint64_t words) const noexcept;
  // Completes and syncs the file; returns its size.
  Result<std::uint64_t> finish(const SnapshotHeader& header);
  std::uint64_t size() const noexcept { return file_.size(); }

 private:
  explicit SnapshotWriter(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
  std::vector<SnapshotChunk> chunks_;
  std::size_t left_out_ = 0;  // bytes missing from the last chunk
  bool set_aside_ = false;    // set_aside() was called
};

// Fills `out` with the words of a section from `first` on.
using CopyWords =
    std::function<void(std::size_t section, std::uint64_t first, std::span<std::uint64_t> out)>;

// Writes and syncs `path`; the caller publishes it. Returns its size. Errors: file errors; kClosed
// if `pace` asks to give up.
Result<std::uint64_t> write_snapshot(const std::string& path, const SnapshotHeader& header,
                                     const CopyWords& copy_words, const SnapshotPace& pace = {});
// The same, atomically by a TemporaryFile. Of concurrent saves to one path, also by several
// processes, the last to finish wins.
Result<std::uint64_t> save_snapshot(const std::string& path, const SnapshotHeader& header,
                                    const CopyWords& copy_words);

}  // namespace trawl
