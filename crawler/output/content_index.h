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

// The first fetch of a body, and the record to which revisits refer.
struct FirstCopy {
  std::string url;
  std::string date;             // WARC-Date of the record with the body; empty: there is none
  std::string record_url = {};  // its URL, if it is of a later copy: the first was not kept
  const std::string& url_of_record() const { return record_url.empty() ? url : record_url; }
  friend bool operator==(const FirstCopy&, const FirstCopy&) = default;
};

// Maps digests to first copies, exactly: a log of the newest claims, and once they were thousands a
// small database, with a filter in front, so that new bodies cost no read. Only find() is
// thread-safe, also during claim() and commit(). Memory: 16 MiB and about two bytes a body,
// bounded.
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
  // The log in the directory; the other files, if there are any, are the database's.
  static std::filesystem::path log_path(const std::filesystem::path& directory);
  ContentIndex(const ContentIndex&) = delete;
  ContentIndex& operator=(const ContentIndex&) = delete;
  ~ContentIndex();  // claims that were not committed are lost

  // The first copy of the body, also if it was claimed but not committed yet.
  Result<std::optional<FirstCopy>> find(std::string_view digest) const;
  // The first copy if there is one; otherwise none, and `copy` becomes the first. If there is one
  // without a record and `copy` has one, its record becomes that of the body.
  Result<std::optional<FirstCopy>> claim(std::string_view digest, const FirstCopy& copy);
  // Makes the claims durable. After an error all later calls return the error.
  Result<void> commit();

  std::uint64_t bodies() const;  // claims included
  std::uint64_t memory() const;  // bytes

 private:
  struct State;
  explicit ContentIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
