#include "tests/support/file_faults.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/file_faults_disk.h"

namespace trawl::test {
namespace faults {

Disk& disk() {
  static auto* const the_disk = new Disk;  // never destroyed: files are closed until the very end
  return *the_disk;
}

Verdict judge(Disk& disk, const char* what, const std::string& path) {
  ++disk.operations;
  const bool concerned = disk.part.empty() || path.find(disk.part) != std::string::npos;
  if (disk.dead && concerned) {
    errno = disk.error;
    return Verdict::kFail;
  }
  if (disk.fault == Fault::kNone || !concerned || --disk.countdown > 0) return Verdict::kPass;
  disk.struck_at = std::string(what) + " " + path;
  disk.dead = disk.fault != Fault::kOnce;
  errno = disk.error;
  const bool crash = disk.fault == Fault::kCrash;
  disk.fault = Fault::kNone;
  return crash ? Verdict::kTorn : Verdict::kFail;
}

bool happens(Disk& disk, Verdict verdict) {
  return verdict == Verdict::kPass || (verdict == Verdict::kTorn && disk.random() % 2 == 0);
}

FilePointer file_of(Disk& disk, int fd) {
  return fd >= 0 && static_cast<std::size_t>(fd) < kMaxFiles
             ? disk.descriptors[static_cast<std::size_t>(fd)]
             : nullptr;
}

void forget_descriptor(Disk& disk, int fd) {
  if (fd >= 0 && static_cast<std::size_t>(fd) < kMaxFiles) {
    disk.descriptors[static_cast<std::size_t>(fd)] = nullptr;
  }
}

bool exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

std::string bury(Disk& disk, const std::string& path) {
  TRAWL_REAL(link);
  std::string grave = disk.graveyard + "/" + std::to_string(disk.graves++);
  if (real_link(path.c_str(), grave.c_str()) != 0) return {};
  if (auto known = disk.files.extract(path)) {
    known.mapped()->path = grave;
    known.key() = grave;
    disk.files.insert(std::move(known));
  }
  return grave;
}

void note_change(Disk& disk, DirectoryChange change) {
  if (!disk.power) return;
  change.directory = change.path.substr(0, change.path.rfind('/'));
  disk.changes.push_back(std::move(change));
}

void note_open(Disk& disk, int fd, const std::string& path, int flags, bool created) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= kMaxFiles) return;
  FilePointer& file = disk.files[path];
  if (!file) {
    file = std::make_shared<File>(File{.path = path, .directory = (flags & O_DIRECTORY) != 0});
    struct stat status;
    if (::fstat(fd, &status) == 0) {
      file->directory = S_ISDIR(status.st_mode);
      file->synced = created ? 0 : static_cast<std::uint64_t>(status.st_size);
    }
  }
  if (flags & O_TRUNC) file->synced = 0;
  disk.descriptors[static_cast<std::size_t>(fd)] = file;
  if (created) note_change(disk, {.kind = DirectoryChange::kCreated, .path = path});
}

}  // namespace faults

namespace {

using namespace faults;

// After a power loss: some of what was not synced is gone.
void cut_file(const File& file, std::mt19937_64& random) {
  struct stat status;
  if (!file.dirty || file.directory || ::stat(file.path.c_str(), &status) != 0) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size <= file.synced) return;
  std::uint64_t kept = size;
  switch (random() % 3) {
    case 0:
      kept = file.synced;
      break;
    case 1:
      kept = file.synced + random() % (size - file.synced + 1);
      break;
    default:
      break;
  }
  // Where the length reached the disk and the data did not, there are zeros.
  const bool zeros = random() % 4 == 0;
  for (const auto length : {kept, zeros ? size : kept}) {
    if (::truncate(file.path.c_str(), static_cast<off_t>(length)) != 0)
      throw std::runtime_error("cannot cut " + file.path);
  }
}

void undo(const DirectoryChange& change) {
  std::error_code error;
  switch (change.kind) {
    case DirectoryChange::kCreated:
      std::filesystem::remove_all(change.path, error);
      break;
    case DirectoryChange::kRenamed:
      std::filesystem::rename(change.path, change.from, error);
      break;
    case DirectoryChange::kRemoved:
      break;
  }
  if (!error && !change.saved.empty()) std::filesystem::rename(change.saved, change.path, error);
  if (error) throw std::runtime_error("cannot undo what became of " + change.path);
}

}  // namespace

FileFaults::FileFaults(const std::filesystem::path& directory, Track track) {
  const std::lock_guard lock(disk().mutex);
  if (disk().watching.load(std::memory_order_relaxed))
    throw std::logic_error("another directory is watched");
  disk().root = std::filesystem::absolute(directory).lexically_normal().string();
  disk().graveyard = disk().root + ".graves";
  disk().power = track == Track::kPowerLoss;
  disk().operations = 0;
  if (disk().power) std::filesystem::create_directory(disk().graveyard);
  // release: pairs with the acquire in Watched.
  disk().watching.store(true, std::memory_order_release);
}

FileFaults::~FileFaults() {
  heal();
  slow_down(std::chrono::milliseconds(0));
  const std::lock_guard lock(disk().mutex);
  disk().watching.store(false, std::memory_order_release);  // pairs with the acquire in Watched
  disk().files.clear();
  disk().changes.clear();
  disk().descriptors.fill(nullptr);
  std::error_code ignored;
  if (disk().power) std::filesystem::remove_all(disk().graveyard, ignored);
}

std::uint64_t FileFaults::operations() const {
  const std::lock_guard lock(disk().mutex);
  return disk().operations;
}

namespace {

// True if the fault that was armed before has struck.
bool arm(Fault fault, std::uint64_t n, int error, const std::string& part) {
  const std::lock_guard lock(disk().mutex);
  const bool struck = !disk().struck_at.empty();
  disk().fault = fault;
  disk().countdown = n;
  disk().error = error;
  disk().part = part;
  disk().dead = false;
  disk().struck_at.clear();
  return struck;
}

}  // namespace

void FileFaults::crash_at(std::uint64_t n, std::uint64_t seed) {
  arm(Fault::kCrash, n, EIO, {});
  disk().random.seed(seed);
}

void FileFaults::fail_once(std::uint64_t n, int error, const std::string& part) {
  arm(Fault::kOnce, n, error, part);
}

void FileFaults::fail_from(std::uint64_t n, int error, const std::string& part) {
  arm(Fault::kFrom, n, error, part);
}

void FileFaults::slow_down(std::chrono::milliseconds by) {
  const std::lock_guard lock(disk().mutex);
  disk().slow = by;
}

bool FileFaults::struck() const {
  return !struck_at().empty();
}

std::string FileFaults::struck_at() const {
  const std::lock_guard lock(disk().mutex);
  return disk().struck_at;
}

bool FileFaults::heal() {
  return arm(Fault::kNone, 0, 0, {});
}

void FileFaults::lose_power(std::uint64_t seed) {
  std::map<std::string, FilePointer> files;
  std::vector<DirectoryChange> changes;
  {
    const std::lock_guard lock(disk().mutex);
    if (!disk().power) throw std::logic_error("what was synced was not tracked");
    disk().watching.store(false, std::memory_order_release);  // pairs with the acquire in Watched
    files.swap(disk().files);
    changes.swap(disk().changes);
  }
  std::mt19937_64 random(seed);
  for (const auto& [path, file] : files)
    cut_file(*file, random);
  // Each directory keeps the first so many of its changes.
  std::map<std::string, std::uint64_t> left;
  for (const auto& change : changes)
    ++left[change.directory];
  std::map<std::string, std::uint64_t> kept;
  for (const auto& [directory, n] : left)
    kept[directory] = random() % (n + 1);
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (left[change->directory]-- > kept[change->directory]) undo(*change);
  }
  const std::lock_guard lock(disk().mutex);
  disk().watching.store(true, std::memory_order_release);  // pairs with the acquire in Watched
}

}  // namespace trawl::test
