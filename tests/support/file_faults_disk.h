// What the parts of FileFaults share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

namespace trawl::test::faults {

// The function that `name` would be without this file.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
// A static in each caller: looked up once.
#define TRAWL_REAL(name) static auto* const real_##name = real<decltype(::name)>(#name)

// One file or directory below the watched one.
struct File {
  std::string path;
  bool directory = false;
  // What a power loss leaves for certain; meaningless unless `dirty`.
  std::uint64_t synced = 0;
  bool dirty = false;
};
using FilePointer = std::shared_ptr<File>;

// A change of a directory that was not synced.
struct DirectoryChange {
  enum Kind { kCreated, kRenamed, kRemoved } kind;
  std::string directory = {};
  std::string path;        // where it is now; of one removed: where it was
  std::string from = {};   // of one renamed
  std::string saved = {};  // where what was removed or replaced is kept; may be empty
};

enum class Fault { kNone, kOnce, kFrom, kCrash };

inline constexpr std::size_t kMaxFiles = 65'536;

// What the C functions below share. `watching` lets all others pass without the lock.
struct Disk {
  std::atomic<bool> watching{false};
  std::mutex mutex;
  std::string root;
  std::string graveyard;  // next to the root; holds what a power loss may restore
  bool power = false;
  std::uint64_t operations = 0;
  Fault fault = Fault::kNone;
  std::uint64_t countdown = 0;
  int error = 0;
  std::string part;
  std::chrono::milliseconds slow{0};  // how long a write takes
  bool dead = false;                  // the fault has struck, and all fails
  std::string struck_at;
  std::mt19937_64 random;
  std::uint64_t graves = 0;
  std::map<std::string, FilePointer> files;
  std::vector<DirectoryChange> changes;
  std::array<FilePointer, kMaxFiles> descriptors;

  bool holds(std::string_view path) const {
    if (!path.starts_with(root)) return false;
    if (path.size() == root.size()) return true;
    if (path[root.size()] != '/') return false;
    // RocksDB's text log.
    return !path.substr(path.rfind('/')).starts_with("/LOG");
  }
};

Disk& disk();

// For the time of one call: the disk, if it is watched. Keeps errno.
class Watched {
 public:
  Watched() : lock_(disk().mutex, std::defer_lock) {
    // acquire: pairs with the release in FileFaults; everything else is under the lock.
    if (!disk().watching.load(std::memory_order_acquire)) return;
    lock_.lock();
    on_ = disk().watching.load(std::memory_order_relaxed);
  }
  explicit operator bool() const { return on_; }
  Disk& operator*() const { return disk(); }
  Disk* operator->() const { return &disk(); }

 private:
  std::unique_lock<std::mutex> lock_;
  bool on_ = false;
};

// What is to happen to an operation that changes something.
enum class Verdict { kPass, kFail, kTorn };

// Counts the operation; on kFail and kTorn errno is set.
Verdict judge(Disk& disk, const char* what, const std::string& path);
// For operations that are done as a whole or not at all, a crash notwithstanding.
bool happens(Disk& disk, Verdict verdict);

bool exists(const std::string& path);
FilePointer file_of(Disk& disk, int fd);
void forget_descriptor(Disk& disk, int fd);
void note_open(Disk& disk, int fd, const std::string& path, int flags, bool created);
void note_change(Disk& disk, DirectoryChange change);
// Keeps what is about to be removed from `path`; returns where.
std::string bury(Disk& disk, const std::string& path);

}  // namespace trawl::test::faults
