// SnapshotReader: reads snapshots, one chunk at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file_io.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

class SnapshotReader {
 public:
  // Opens the file of a section that is not in the snapshot at `path`, as a blocked filter. Errors:
  // as open(); kCorrupt if the file is another one.
  static Result<SnapshotReader> open_layer(const SnapshotHeader& header, std::size_t section,
                                           const std::string& path);
  // Opens the file and verifies everything except its chunks. Errors: kNotFound, kCorrupt,
  // kUnsupportedVersion, kIo; kInvalidArgument if it holds another kind of filter.
  static Result<SnapshotReader> open(const std::string& path, FilterKind kind);

  const SnapshotHeader& header() const noexcept { return index_.header; }
  std::uint64_t identity() const { return identity_of(index_); }
  const std::string& path() const noexcept { return file_.path(); }

  // Passes the words of each chunk of the file, verified; words not passed are zero, or in another
  // file. Errors: kCorrupt with the chunk's number, kIo.
  using StoreWords = std::function<void(std::size_t section, std::uint64_t first,
                                        std::span<const std::uint64_t> words)>;
  Result<void> read_words(const StoreWords& store_words) const;
  // The same, and passes the chunks after a damaged one too. Errors: that of the first.
  Result<void> read_intact_words(const StoreWords& store_words) const;

 private:
  SnapshotReader(InputFile file, SnapshotIndex index)
      : file_(std::move(file)), index_(std::move(index)) {}
  Result<void> read_words(const StoreWords& store_words, bool go_on) const;
  InputFile file_;
  SnapshotIndex index_;
};

}  // namespace trawl
