// A commit is the work of one thread at a time, and most of that was RocksDB's log: a checksum and
// a few copies of each new URL. So the bytes of a large run are written to a file by the thread
// that admits it, which several threads do at once, each to a file of its own. The commit writes a
// reference to the log, in the batch that it would write anyway, and the memtable shares the bytes.
//
// N1, N3 and N4 rest on RocksDB's log as before, and on three rules:
//
// 1. A reference is written after the bytes (QueueRun::written()), so that after a kill each
//    reference in the log has its bytes.
// 2. The log is synced after the bytes, whenever it is synced: for a commit, for a checkpoint, and
//    before a table is added whose changes are also in the log (run_log_env.h). So a power loss may
//    leave a reference without its bytes only in the part of the log that may be lost. Such a
//    reference counts as a damaged record of the log: the replay ends before it, for all column
//    families (run_recovery.h).
// 3. A file is removed when all its runs are gone, and a run is kept by the memtable that has it.
//    RocksDB destroys a memtable when its table is in the manifest, which is synced; from then on
//    it ignores what older logs say of kPending, and so do we. A memtable is also destroyed when
//    the store is closed, and when what was recovered has become a table, before that is in the
//    manifest. So files stay when the store is closed (keep_all()), and recovered runs keep none:
//    begin() removes the files of earlier times when the store is open.
//
// Runs that wait in the inboxes of shards keep their files, too. So the files take little more room
// than the memtables of kPending and the inboxes: for each thread that writes one that is being
// filled, and one of which only a part is needed.
#include "frontier/store/run_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file_io.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".run";

std::string path_of(const fs::path& directory, std::uint64_t number) {
  return (directory / fmt::format("{:06}{}", number, kEnding)).string();
}

// The number in the name of a file with runs.
std::optional<std::uint64_t> number_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.ends_with(kEnding)) return std::nullopt;
  const char* const end = name.data() + name.size() - kEnding.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::uint64_t checksum_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

void RunHandover::give(std::shared_ptr<RunBytes> run) {
  const std::pair place(run->place->file, run->place->offset);
  const MutexLock lock(mutex_);
  runs_.insert_or_assign(place, std::move(run));
}

std::shared_ptr<RunBytes> RunHandover::take(const RunPlace& place) {
  const MutexLock lock(mutex_);
  const auto found = runs_.find({place.file, place.offset});
  if (found == runs_.end() || found->second->place != place) return nullptr;
  std::shared_ptr<RunBytes> run = std::move(found->second);
  runs_.erase(found);
  return run;
}

class RunFiles::File {
 public:
  File(OutputFile file, std::string path, std::uint64_t number,
       std::shared_ptr<const std::atomic<bool>> keeps)
      : file_(std::move(file)), path_(std::move(path)), number_(number), keeps_(std::move(keeps)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    // If that fails, the next opening of the store removes it.
    if (!keeps_->load(std::memory_order_relaxed)) ::unlink(path_.c_str());
  }

  std::uint64_t number() const noexcept { return number_; }
  std::uint64_t size() const noexcept { return file_.size(); }
  Result<void> write(std::string_view bytes) {
    if (auto written = file_.write(bytes); !written) return written;
    return file_.write_back(kWriteBack);
  }
  // While others write.
  Result<void> sync() { return file_.sync(); }

  bool unsynced = false;  // RunFiles::unsynced_ has it

 private:
  static constexpr std::uint64_t kWriteBack = 1u << 20;  // as RocksDB's log

  OutputFile file_;
  const std::string path_;
  const std::uint64_t number_;
  const std::shared_ptr<const std::atomic<bool>> keeps_;
};

RunFiles::RunFiles(fs::path directory, std::uint64_t file_bytes)
    : directory_(std::move(directory)),
      file_bytes_(file_bytes),
      lanes_in_use_(std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kLanes)) {}

Result<void> RunFiles::begin() {
  std::vector<fs::path> old;
  std::uint64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    const auto number = number_of(it->path());
    if (!number) continue;
    last = std::max(last, *number);
    old.push_back(it->path());
  }
  for (const fs::path& path : old) {
    if (!error) fs::remove(path, error);
  }
  if (error)
    return tl::unexpected(
        system_error(error.value(), "cannot remove old files in " + directory_.string()));
  last_number_.store(last, std::memory_order_relaxed);
  return {};
}

// Null if that fails.
std::shared_ptr<RunFiles::File> RunFiles::create() {
  const std::uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::string path = path_of(directory_, number);
  auto created = OutputFile::create_new(path);
  if (!created) return nullptr;  // the log's error says why, if it cannot be written either
  auto file = std::make_shared<File>(std::move(*created), std::move(path), number, keeps_);
  const MutexLock lock(mutex_);
  created_ = true;
  return file;
}

void RunFiles::note_unsynced(const std::shared_ptr<File>& file) {
  const MutexLock lock(mutex_);
  if (std::exchange(file->unsynced, true)) return;
  std::erase_if(unsynced_, [](const auto& other) { return other.expired(); });
  unsynced_.push_back(file);
}

Result<void> RunFiles::write(RunBytes& run) {
  const std::uint64_t checksum = checksum_of(run.bytes);
  Lane& lane = lanes_[thread_stripe(lanes_in_use_)];
  std::shared_ptr<File> file;
  {
    const MutexLock lock(lane.mutex);
    if (lane.file && lane.file->size() >= file_bytes_) lane.file.reset();
    if (!lane.file) lane.file = create();
    if (!lane.file) return {};
    file = lane.file;
    const std::uint64_t offset = file->size();
    if (auto written = file->write(run.bytes); !written) {
      lane.file.reset();  // what it holds behind the offset is not known
      return written;
    }
    run.place = {.file = file->number(),
                 .offset = static_cast<std::uint32_t>(offset),
                 .size = static_cast<std::uint32_t>(run.bytes.size()),
                 .checksum = checksum};
  }
  note_unsynced(file);
  run.file = std::move(file);
  return {};
}

Result<void> RunFiles::sync() {
  const MutexLock lock(syncing_);
  if (failure_) return tl::unexpected(*failure_);
  std::vector<std::shared_ptr<File>> files;
  bool created = false;
  {
    const MutexLock lock_files(mutex_);
    // A thread that writes to one from now on notes it again.
    for (const auto& unsynced : unsynced_) {
      if (auto file = unsynced.lock()) files.push_back(std::move(file));
    }
    for (const auto& file : files)
      file->unsynced = false;
    unsynced_.clear();
    created = std::exchange(created_, false);
  }
  Result<void> done;
  for (const auto& file : files) {
    if (done) done = file->sync();
  }
  if (done && created) done = sync_directory(directory_.string());
  if (!done) failure_ = done.error();
  files.clear();
  drop_idle();
  return done;
}

// Removes the files that are being filled and have no run that is needed, for a thread may never
// write again. Only the lane adds owners.
void RunFiles::drop_idle() {
  for (Lane& lane : lanes_) {
    if (!lane.mutex.try_lock()) continue;  // it writes
    if (lane.file && lane.file.use_count() == 1) lane.file.reset();
    lane.mutex.unlock();
  }
}

Result<std::optional<RunBytes>> RunFiles::read(const fs::path& directory, const RunPlace& place) {
  const std::string path = path_of(directory, place.file);
  std::error_code error;
  if (!fs::exists(path, error) && !error) return std::nullopt;
  const auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  // Before memory is taken for a size that may be wrong.
  const auto size = file->size();
  if (!size) return tl::unexpected(size.error());
  if (*size < std::uint64_t{place.offset} + place.size) return std::nullopt;
  RunBytes run;
  run.bytes.resize(place.size);
  const auto n = file->read_at(run.bytes.data(), place.size, place.offset);
  if (!n) return tl::unexpected(n.error());
  if (*n != place.size || checksum_of(run.bytes) != place.checksum) return std::nullopt;
  run.place = place;
  return run;
}

}  // namespace trawl
