// ClaimLog: the newest claims of ContentIndex, in a file that costs one write a commit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "base/one_thread.h"

namespace trawl {

// An append-only file of frames, a frame a commit. After an error the object must not be used.
class ClaimLog {
 public:
  struct Claim {
    Fingerprint body;
    std::string_view record;  // what the database has as the body's value
  };
  using Take = std::function<void(const Claim&)>;

  // Whether the file is a log, or what a crash left of a new one.
  static bool is_one(const std::filesystem::path& file);
  // Opens the log, or creates an empty file, and locks it against others, this process included;
  // replay() follows. Errors: kInUse, kCorrupt, kUnsupportedVersion, kNoSpace, kIo.
  static Result<ClaimLog> open(const std::filesystem::path& file);

  // Of the hash that made the fingerprints; none in a new log.
  const std::optional<KeyedHash::Key>& key() const noexcept { return key_; }
  // Passes the claims to `take` in their order. What a crash left of an unfinished commit is
  // removed. A new log gets the key; `sync`: and survives a power loss. Errors: kCorrupt if the
  // file is damaged elsewhere or has another key; kNoSpace, kIo.
  Result<void> replay(const KeyedHash::Key& key, bool sync, const Take& take);

  void add(const Claim& claim);
  bool has_uncommitted() const noexcept { return !frame_.empty(); }
  // Appends the claims since the last commit; they survive the end of the process. `sync`: and a
  // power loss.
  Result<void> commit(bool sync);
  // Removes all claims: the database has them.
  Result<void> clear();

 private:
  ClaimLog(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<void> read_header(std::string_view bytes);
  Result<void> begin(const KeyedHash::Key& key, bool sync);
  Result<void> replay(std::string_view bytes, const Take& take);
  Result<void> cut(std::uint64_t size);
  Error damaged(std::uint64_t offset) const;

  FileDescriptor fd_;
  std::string path_;
  std::optional<KeyedHash::Key> key_;
  std::uint64_t salt_ = 0;
  std::uint64_t size_ = 0;
  std::string frame_;  // of the claims since the last commit, with room for its head
  OneAtATime using_;
};

}  // namespace trawl
