// MappedFilter: asks a saved filter without loading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A file that a filter of any kind saved, mapped into memory read-only: opening reads its header
// and directory only, and the system reads and drops pages as they are asked for, so that the file
// may be larger than the memory.
//
// The file must not be changed or cut while it is mapped; replacing it by another (save() does) is
// fine. An I/O error while a page is read ends the process with SIGBUS: that is how mapped files
// fail. Thread-safe.
class MappedFilter {
 public:
  // Errors: kNotFound, kPermission, kCorrupt, kUnsupportedVersion, kIo; kNoSpace if there is no
  // memory for the table of its chunks; kInvalidArgument for what is no regular file.
  static Result<MappedFilter> open(const std::string& path);

  bool contains(Fingerprint key) const noexcept;
  // contains() for each key, with the misses overlapped. Returns how many were found.
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // Reads the whole file and verifies each chunk's checksum. Errors: kCorrupt with the chunk's
  // number, kIo.
  Result<void> verify() const;

  FilterKind kind() const noexcept;
  // `memory_bytes` is what the filter would take if it were loaded, `fill` is from a sample. The
  // keys of a cuckoo filter are those that its header counts, where load() counts its tags; its
  // rate follows from them.
  FilterStats stats() const;
  const KeyedHash& hash() const noexcept;

  MappedFilter(MappedFilter&&) noexcept;
  MappedFilter& operator=(MappedFilter&&) noexcept;
  ~MappedFilter();

 private:
  struct State;
  explicit MappedFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
