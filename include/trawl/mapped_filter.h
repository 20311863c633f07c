// MappedFilter: looks keys up in a saved filter without loading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A file saved by a filter of any kind, mapped into memory read-only. Opening reads only its header
// and directory. The system loads and evicts pages on demand, so the file may be larger than
// memory.
//
// The file must not be modified or truncated while it is mapped; replacing it, as save() does, is
// safe. An I/O error while a page is read ends the process with SIGBUS, as with any mapped file.
// Thread-safe.
class MappedFilter {
 public:
  // Errors: kNotFound, kPermission, kCorrupt, kUnsupportedVersion, kIo; kNoSpace if there is no
  // memory for the table of its chunks; kInvalidArgument if the path is not a regular file.
  static Result<MappedFilter> open(const std::string& path);

  bool contains(Fingerprint key) const noexcept;
  // Calls contains() for each key, with overlapping cache misses. Returns the number of keys found.
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // Reads the whole file and verifies each chunk's checksum. Errors: kCorrupt with the chunk's
  // number, kIo.
  Result<void> verify() const;

  FilterKind kind() const noexcept;
  // `memory_bytes` is the memory the filter takes when loaded; `fill` comes from a sample. For a
  // cuckoo filter `inserted`, and the rate that follows from it, come from the header, whereas
  // load() counts the tags.
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
