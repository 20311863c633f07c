// FileWatch: detects that a file has changed, without reading it.
#pragma once

#include <chrono>
#include <filesystem>

#include <sys/stat.h>

namespace trawl {

// Checks at most once a second. Compares device and inode (which change if a file is renamed to
// this name, or a symbolic link is changed), size and the time of the last change.
class FileWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kPeriod{1};

  explicit FileWatch(std::filesystem::path path) : path_(std::move(path)) {}

  // Whether the file differs from the last check. A missing file is a state too. The first call
  // returns true.
  bool changed(Time now) {
    if (now < next_look_) return false;
    next_look_ = now + kPeriod;
    const State state = look();
    if (looked_ && state == state_) return false;
    looked_ = true;
    state_ = state;
    return true;
  }
  // When changed() will check again.
  Time next_look() const { return next_look_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct State {
    bool exists = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    friend bool operator==(const State& one, const State& other) {
      return one.exists == other.exists && one.device == other.device && one.inode == other.inode &&
             one.size == other.size && one.modified.tv_sec == other.modified.tv_sec &&
             one.modified.tv_nsec == other.modified.tv_nsec;
    }
  };

  State look() const {
    struct stat found {};
    if (::stat(path_.c_str(), &found) != 0) return {};
    return {.exists = true,
            .device = found.st_dev,
            .inode = found.st_ino,
            .size = found.st_size,
            .modified = found.st_mtim};
  }

  const std::filesystem::path path_;
  Time next_look_{};
  bool looked_ = false;
  State state_;
};

}  // namespace trawl
