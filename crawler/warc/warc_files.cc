#include "crawler/warc/warc_files.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/one_thread.h"
#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/warc_names.h"
#include "crawler/warc/warc_repair.h"
#include "crawler/warc/warcinfo.h"

namespace trawl {

namespace {

// Bytes of index lines that are buffered.
constexpr std::size_t kMaxHeldLines = 64 * 1024;
// Names of files that begin in one millisecond.
constexpr int kMaxNamesTried = 10'000;

// A file that holds complete pieces only, even if its disk is full.
class AppendFile {
 public:
  static Result<AppendFile> create(const std::string& path) {
    FileDescriptor fd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot create " + path));
    return AppendFile(std::move(fd), path);
  }
  // Appends all of `piece` or nothing.
  Result<void> append(std::string_view piece) {
    if (torn_)
      return error(ErrorCode::kClosed,
                   path_ + " may end with an incomplete record: run trawl resume");
    auto written = write_all(fd_.get(), piece, path_);
    if (written) {
      size_ += piece.size();
    } else {
      torn_ = ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0;
    }
    return written;
  }
  Result<void> sync() {
    if (torn_)
      return error(ErrorCode::kClosed,
                   path_ + " may end with an incomplete record: run trawl resume");
    auto synced = sync_file(fd_.get(), path_);
    // The next sync would succeed although the data of this one is lost.
    if (!synced) torn_ = true;
    return synced;
  }
  std::uint64_t size() const noexcept { return size_; }

 private:
  AppendFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  bool torn_ = false;
};

// The file that is being written.
struct OpenWarc {
  WarcNames names;
  AppendFile warc;
  std::optional<AppendFile> lines;  // none: no index
  std::chrono::system_clock::time_point opened;
  std::uint64_t info_size = 0;  // of the warcinfo record
  std::string held_lines = {};
  bool name_synced = false;

  Result<void> write_lines() {
    if (held_lines.empty()) return {};
    auto written = lines->append(held_lines);
    if (written) held_lines.clear();
    return written;
  }
};

Result<FileDescriptor> lock(const std::filesystem::path& directory, const std::string& prefix) {
  const std::string path = (directory / ("." + prefix + ".lock")).string();
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot open " + path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
  return error(ErrorCode::kInUse, "the WARC files " + (directory / prefix).string() +
                                      "-* are being written by another crawl: choose another "
                                      "output.directory or output.warc_prefix");
}

}  // namespace

struct WarcFiles::State {
  std::filesystem::path directory;
  WarcFilesOptions options;
  FileDescriptor lock;
  std::vector<WarcRepairReport> repairs = {};
  std::optional<OpenWarc> current = {};
  std::uint32_t serial = 0;
  std::uint64_t files_closed = 0;
  std::uint64_t bytes_written = 0;
  bool closed = false;
  OneAtATime using_now = {};

  Result<void> repair_all() {
    const auto stems = open_warc_stems(directory, options.prefix);
    if (!stems) return tl::unexpected(stems.error());
    for (const std::string& stem : *stems) {
      auto repaired = repair_warc(WarcNames(directory, stem), options.cdxj);
      if (!repaired) return tl::unexpected(repaired.error());
      repairs.push_back(std::move(*repaired));
    }
    return remove_leftovers(directory, options.prefix);
  }

  bool is_due() const {
    if (!current) return false;
    return current->warc.size() >= options.max_size ||
           (options.max_age.count() > 0 && options.now() - current->opened >= options.max_age);
  }

  Result<void> open_next();
  Result<void> begin(const WarcNames& names);
  Result<void> close_current();
};

// Creates the files and writes the warcinfo record. After an error the caller removes the files.
Result<void> WarcFiles::State::begin(const WarcNames& names) {
  const auto now = options.now();
  auto warc = AppendFile::create(names.open);
  if (!warc) return tl::unexpected(warc.error());
  std::optional<AppendFile> lines;
  if (options.cdxj) {
    auto created = AppendFile::create(names.lines);
    if (!created) return tl::unexpected(created.error());
    lines.emplace(std::move(*created));
  }
  const std::string info = warcinfo_member(options, names.file, now);
  if (auto written = warc->append(info); !written) return written;
  bytes_written += info.size();
  current.emplace(OpenWarc{.names = names,
                           .warc = std::move(*warc),
                           .lines = std::move(lines),
                           .opened = now,
                           .info_size = info.size()});
  return {};
}

Result<void> WarcFiles::State::open_next() {
  for (int tried = 0; tried < kMaxNamesTried; ++tried) {
    const WarcNames names(directory, warc_stem(options.prefix, options.now(), serial++));
    if (::access(names.closed.c_str(), F_OK) == 0 || ::access(names.open.c_str(), F_OK) == 0)
      continue;
    auto begun = begin(names);
    if (!begun) {
      ::unlink(names.open.c_str());
      ::unlink(names.lines.c_str());
    }
    return begun;
  }
  return error(ErrorCode::kAlreadyExists, "all names for a new WARC file in " + directory.string() +
                                              " are taken: choose another output.warc_prefix");
}

Result<void> WarcFiles::State::close_current() {
  if (!current) return {};
  OpenWarc& file = *current;
  if (file.warc.size() == file.info_size) {  // it has no other record
    ::unlink(file.names.open.c_str());
    ::unlink(file.names.lines.c_str());
    current.reset();
    return {};
  }
  const auto published =
      file.write_lines().and_then([&] { return file.warc.sync(); }).and_then([&] {
        return publish_warc(file.names, file.lines.has_value());
      });
  if (!published) return published;
  current.reset();
  ++files_closed;
  return {};
}

WarcFiles::WarcFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
WarcFiles::~WarcFiles() = default;

Result<std::unique_ptr<WarcFiles>> WarcFiles::open(const std::filesystem::path& directory,
                                                   const WarcFilesOptions& options) {
  if (auto checked = check_warc_prefix(options.prefix); !checked)
    return tl::unexpected(checked.error());
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot create the directory " + directory.string()));
  }
  auto locked = lock(directory, options.prefix);
  if (!locked) return tl::unexpected(locked.error());
  auto state = std::make_unique<State>(
      State{.directory = directory, .options = options, .lock = std::move(*locked)});
  if (!state->options.now) state->options.now = std::chrono::system_clock::now;
  if (auto repaired = state->repair_all(); !repaired) return tl::unexpected(repaired.error());
  return std::unique_ptr<WarcFiles>(new WarcFiles(std::move(state)));
}

Result<WarcLocation> WarcFiles::append(const WarcRecords& records) {
  const OneAtATime::Use use(state_->using_now);
  State& s = *state_;
  if (s.closed) return error(ErrorCode::kClosed, "the WARC files are closed");
  if (s.is_due()) {
    if (auto done = s.close_current(); !done) return tl::unexpected(done.error());
  }
  if (!s.current) {
    if (auto begun = s.open_next(); !begun) return tl::unexpected(begun.error());
  }
  OpenWarc& file = *s.current;
  if (file.held_lines.size() >= kMaxHeldLines) {
    if (auto written = file.write_lines(); !written) return tl::unexpected(written.error());
  }
  const WarcLocation place{.file = file.names.file,
                           .offset = file.warc.size() + records.main_offset,
                           .length = records.main_length};
  if (auto written = file.warc.append(records.bytes); !written)
    return tl::unexpected(written.error());
  s.bytes_written += records.bytes.size();
  if (file.lines && !records.cdxj.empty()) {
    file.held_lines += records.cdxj;
    file.held_lines += cdxj_end(place.length, place.offset, place.file);
  }
  return place;
}

Result<void> WarcFiles::close_if_old() {
  const OneAtATime::Use use(state_->using_now);
  return state_->is_due() ? state_->close_current() : Result<void>();
}

Result<void> WarcFiles::flush(bool sync) {
  const OneAtATime::Use use(state_->using_now);
  if (!state_->current || !sync) return {};
  OpenWarc& file = *state_->current;
  if (auto synced = file.warc.sync(); !synced || file.name_synced) return synced;
  auto synced = sync_directory(file.names.directory);
  file.name_synced = synced.has_value();
  return synced;
}

Result<void> WarcFiles::close() {
  const OneAtATime::Use use(state_->using_now);
  state_->closed = true;
  return state_->close_current();
}

const std::vector<WarcRepairReport>& WarcFiles::repairs() const noexcept {
  return state_->repairs;
}
std::uint64_t WarcFiles::files_closed() const noexcept {
  return state_->files_closed;
}
std::uint64_t WarcFiles::bytes_written() const noexcept {
  return state_->bytes_written;
}

}  // namespace trawl
