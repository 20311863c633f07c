// ContentIndex: which URL had a body first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

// The first fetch of a body.
struct FirstCopy {
  std::string url;
  std::string date;  // WARC-Date of its record; empty: there is none, and none can refer to it
  friend bool operator==(const FirstCopy&, const FirstCopy&) = default;
};

// Digest to first copy, exact: a small database of its own, and in front of it a filter that
// answers for bodies not seen before, so that these cost no read. Only
// find() is thread-safe, beside claim() and commit() too. Memory: 16 MiB and about two bytes a
// body, bounded.
class ContentIndex {
 public:
  struct Options {
    bool sync = false;                          // each commit survives a power loss
    std::uint64_t expected_bodies = 1'000'000;  // a hint
  };
  // Reads all digests: linear in their number. Errors: kInUse, kCorrupt, kNoSpace, kIo,
  // kUnsupportedVersion.
  static Result<std::unique_ptr<ContentIndex>> open(const std::filesystem::path& directory,
                                                    const Options& options);
  ContentIndex(const ContentIndex&) = delete;
  ContentIndex& operator=(const ContentIndex&) = delete;
  ~ContentIndex();  // what was claimed but not committed is forgotten

  // The first copy of the body, claimed ones not committed yet included.
  Result<std::optional<FirstCopy>> find(std::string_view digest) const;
  // The first copy if there is one; or else `copy` becomes it.
  Result<std::optional<FirstCopy>> claim(std::string_view digest, const FirstCopy& copy);
  // Makes the claims durable. After an error they are kept, and the index takes no more.
  Result<void> commit();

  std::uint64_t bodies() const;  // known, those claimed included; after a crash, as found
  std::uint64_t memory() const;  // bytes

 private:
  struct State;
  explicit ContentIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
