// Writes snapshots, one chunk after the other.
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

// For whoever makes a filter part by part; the header may be known at the end only.
class SnapshotWriter {
 public:
  // Creates `path` or empties it; until finish() it is no valid snapshot.
  static Result<SnapshotWriter> create(const std::string& path);
  // The same in a file that was just created.
  static Result<SnapshotWriter> begin(OutputFile file);
  // Appends the next chunk, whose place among all chunks is `index`: above those appended before.
  // At most kSnapshotChunkWords words, and fewer only at the end of a section; the rest of the
  // chunk is zero, and written when another one follows. The disk is kept busy with what was
  // appended, a few MiB behind.
  Result<void> append(std::uint64_t index, std::span<const std::uint64_t> words);
  // Keeps the words of chunks that are to be appended later, from chunk `index` on, where they can
  // lie until then: behind all that is appended before them. read_back() returns them as long as no
  // chunk from `index` on was appended; prefetch() has the disk begin to read them.
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
  std::size_t left_out_ = 0;        // bytes that the last chunk is shorter than a whole one
  std::uint64_t written_back_ = 0;  // the file's size at the last write_back()
  bool set_aside_ = false;          // anything was
};

// Fills `out` with the words of a section from `first` on.
using CopyWords =
    std::function<void(std::size_t section, std::uint64_t first, std::span<std::uint64_t> out)>;

// Writes and syncs `path`, whose publication is left to the caller. Returns its size. Errors: those
// of files; kClosed if `pace` says to give up.
Result<std::uint64_t> write_snapshot(const std::string& path, const SnapshotHeader& header,
                                     const CopyWords& copy_words, const SnapshotPace& pace = {});
// The same, atomically: by way of a TemporaryFile. Of two saves to one path, by
// whichever threads or processes, the last to finish wins.
Result<std::uint64_t> save_snapshot(const std::string& path, const SnapshotHeader& header,
                                    const CopyWords& copy_words);

}  // namespace trawl
