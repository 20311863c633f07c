// ExactKeys: the sorted fingerprints beside a filter's file, which tell its true hits from others.
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

// The file is mapped: a look-up reads a page or two, since fingerprints are as good as random and
// so lie about where their values say. Immutable; thread-safe. As with MappedFilter, the file must
// not be changed in place, and an I/O error while a page is read ends the process.
class ExactKeys {
 public:
  // Those that belong to a filter's file, be it that they were about to take their place when their
  // maker was killed; nothing if it has none. Reads the header, not the keys.
  // Errors: kCorrupt, kUnsupportedVersion, kIo; kInvalidArgument if they are another filter's.
  static Result<std::optional<ExactKeys>> beside(const std::string& filter);

  bool contains(Fingerprint key) const noexcept;
  // Turns those answers to false whose key is not in here; returns how many are left true.
  std::size_t keep_true_hits(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // Reads all: their checksum and their order. Errors: kCorrupt, kIo.
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

// A filter, and its keys if it has some.
struct FilterAndKeys {
  MappedFilter filter;
  std::optional<ExactKeys> keys;
};

// Maps both as they are at one moment: if the filter's file is replaced meanwhile, opens the new
// one. Errors: those of MappedFilter::open() and ExactKeys::beside(); kInUse if it is replaced
// again and again.
Result<FilterAndKeys> open_filter_and_keys(const std::string& filter);

}  // namespace trawl
