// ExactKeys: the sorted fingerprints in a file next to a filter's, which distinguish its true hits
// from false positives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "trawl/fingerprint.h"
#include "trawl/mapped_filter.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "filter/exact/exact_keys_format.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

// The file is mapped. A lookup reads one or two pages, since fingerprints are uniformly distributed
// and interpolation finds their position. Immutable; thread-safe. As with MappedFilter, the file
// must not be changed in place, and an I/O error while a page is read ends the process.
class ExactKeys {
 public:
  // Opens the keys of a filter's file, including keys whose process was killed before it could
  // rename them; nothing if there are none. Reads the header, not the keys. Errors: kCorrupt,
  // kUnsupportedVersion, kIo; kInvalidArgument if they are another filter's.
  static Result<std::optional<ExactKeys>> open_for(const std::string& filter);

  bool contains(Fingerprint key) const noexcept;
  // Sets found[i] to false for keys that are not here; returns the number that stay true.
  std::size_t keep_true_hits(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // Reads all keys and verifies their checksum and order. Errors: kCorrupt, kIo.
  Result<void> verify() const;

  std::uint64_t size() const noexcept { return header_.keys; }
  std::uint64_t file_bytes() const noexcept { return kExactHeaderBytes + size() * kExactKeyBytes; }
  const std::string& path() const noexcept { return file_.path(); }
  std::span<const Fingerprint> sorted() const noexcept;

 private:
  static Result<ExactKeys> open(const std::string& path, const std::string& filter,
                                const SnapshotIndex& index);
  ExactKeys(InputFile file, FileMapping mapping, const ExactHeader& header)
      : file_(std::move(file)), mapping_(std::move(mapping)), header_(header) {}

  InputFile file_;
  FileMapping mapping_;
  ExactHeader header_;
};

// A filter, and its keys if there are any.
struct FilterAndKeys {
  MappedFilter filter;
  std::optional<ExactKeys> keys;
};

// Maps matching versions of both: if the filter's file is replaced meanwhile, opens the new one.
// Errors: those of MappedFilter::open() and ExactKeys::open_for(); kInUse if it is replaced
// repeatedly.
Result<FilterAndKeys> open_filter_and_keys(const std::string& filter);

}  // namespace trawl
