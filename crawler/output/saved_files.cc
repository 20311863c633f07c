#include "crawler/output/saved_files.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crawler/output/durable_directory.h"
#include "crawler/output/saved_file_name.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

// Not a URL.
constexpr const char* kFolderOwner = "/";
constexpr std::string_view kUnfinished = "new-";
constexpr std::size_t kOpenFolders = 64;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// The names that follow from the URL alone; those after them are random, so that nobody can take
// them all.
constexpr int kKnownNames = 3;
constexpr int kMostNames = 20;

std::string random_mark() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// The n-th name for what is called `name` first.
std::string name_number(int n, const std::string& name, std::string_view text,
                        std::size_t longest) {
  if (n == 0) return name;
  std::string mark = n < kKnownNames ? name_mark(text) : random_mark();
  if (n == 1) mark.resize(8);
  return marked_name(name, mark, longest);
}

}  // namespace

SavedFiles::NewFile::~NewFile() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
}

Error SavedFiles::failed(int code, std::string_view what, std::string_view path) const {
  return system_error(code, fmt::format("cannot {} {}", what, (root_path_ / path).string()));
}

Result<std::unique_ptr<SavedFiles>> SavedFiles::open(const std::filesystem::path& root, bool sync) {
  std::unique_ptr<SavedFiles> files(new SavedFiles(root, sync));
  if (auto made = make_durable_directory(root); !made) return tl::unexpected(made.error());
  files->root_.fd = FileDescriptor(::open(root.c_str(), kOpenFolder));
  if (files->root_.fd.get() < 0) {
    if (errno != ENOTDIR && errno != ELOOP) return tl::unexpected(files->failed(errno, "open", ""));
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} is a symbolic link, or not a folder: remove it, or set another "
                             "output.directory",
                             root.string()));
  }
  if (::flock(files->root_.fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return error(ErrorCode::kInUse, fmt::format("another process writes to {}: stop it first, or "
                                                "set another output.directory",
                                                root.string()));
  }
  const long longest = ::fpathconf(files->root_.fd.get(), _PC_NAME_MAX);
  if (longest > 0) files->longest_name_ = std::clamp<std::size_t>(longest, 100, 255);
  if (auto opened = files->open_own_folder(); !opened) return tl::unexpected(opened.error());
  return files;
}

Result<void> SavedFiles::open_own_folder() {
  const std::string name(kOwnFolder);
  if (::mkdirat(root_.fd.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
    return tl::unexpected(failed(errno, "create", name));
  own_ = FileDescriptor(::openat(root_.fd.get(), name.c_str(), kOpenFolder));
  if (own_.get() < 0) return tl::unexpected(failed(errno, "open", name));
  if (sync_ && ::fsync(root_.fd.get()) != 0) return tl::unexpected(failed(errno, "sync", ""));
  if (auto removed = remove_unfinished(); !removed) return removed;
  auto names = ContentIndex::open(root_path_ / kOwnFolder / "names",
                                  {.sync = sync_, .expected_bodies = kExpectedFiles});
  if (!names) return tl::unexpected(names.error());
  names_ = *std::move(names);
  return {};
}

Result<void> SavedFiles::remove_unfinished() {
  const int fd = ::openat(own_.get(), ".", kOpenFolder);
  DIR* const folder = fd < 0 ? nullptr : ::fdopendir(fd);
  if (folder == nullptr) {
    const int code = errno;
    if (fd >= 0) ::close(fd);
    return tl::unexpected(failed(code, "read", kOwnFolder));
  }
  while (const dirent* const entry = ::readdir(folder)) {
    if (std::string_view(entry->d_name).starts_with(kUnfinished))
      ::unlinkat(own_.get(), entry->d_name, 0);
  }
  ::closedir(folder);
  return {};
}

Result<bool> SavedFiles::probe(const std::filesystem::path& root) {
  const FileDescriptor fd(::open(root.c_str(), kOpenFolder));
  if (fd.get() < 0) {
    if (errno == ENOENT) return false;
    return tl::unexpected(system_error(errno, "cannot open the folder " + root.string()));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return error(ErrorCode::kInUse, fmt::format("another process writes to {}: stop it first, or "
                                                "set another output.directory",
                                                root.string()));
  }
  std::error_code failure;
  for (std::filesystem::directory_iterator it(root, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (it->path().filename() != kOwnFolder) return true;
  }
  if (failure)
    return tl::unexpected(system_error(failure.value(), "cannot read the folder " + root.string()));
  return false;
}

Result<SavedFiles::NewFile> SavedFiles::create() {
  std::string name = fmt::format("{}{}", kUnfinished, ++created_);
  const std::string path = fmt::format("{}/{}", kOwnFolder, name);
  FileDescriptor fd(::openat(own_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd.get() < 0) return tl::unexpected(failed(errno, "create", path));
  return NewFile(own_.get(), std::move(fd), std::move(name), (root_path_ / path).string());
}

Result<SavedFiles::Taking> SavedFiles::take(const Place& place, const std::string& owner,
                                            bool claims) {
  const bool folder = owner == kFolderOwner;
  struct stat found {};
  const bool exists =
      ::fstatat(place.folder->fd.get(), place.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) return tl::unexpected(failed(errno, "look for", place.path()));
  const std::string key = name_without_case(place.path());
  const auto known = names_->find(key);
  if (!known) return tl::unexpected(known.error());
  // What is not from here stays, whatever the names say.
  if (exists && S_ISDIR(found.st_mode) != folder) return Taking::kOccupied;
  if (*known) return (*known)->url == owner ? Taking::kOurs : Taking::kOccupied;
  if (exists && !folder) return Taking::kOccupied;
  if (!claims) return Taking::kUnused;
  if (auto claimed = names_->claim(key, {.url = owner, .date = {}}); !claimed)
    return tl::unexpected(claimed.error());
  return Taking::kOurs;
}

Result<std::optional<SavedFiles::Place>> SavedFiles::find_place(Folder& folder,
                                                                const std::string& name,
                                                                const std::string& owner,
                                                                bool claims) {
  const std::string& text = owner == kFolderOwner ? name : owner;
  const int most = claims ? kMostNames : kKnownNames;
  for (int n = 0; n < most; ++n) {
    Place place{&folder, name_number(n, name, text, longest_name_)};
    const auto taken = take(place, owner, claims);
    if (!taken) return tl::unexpected(taken.error());
    if (*taken == Taking::kOurs) return place;
    if (*taken == Taking::kUnused) return std::nullopt;
  }
  if (!claims) return std::nullopt;
  return error(ErrorCode::kIo, fmt::format("cannot find an unused name like {} in {}", name,
                                           (root_path_ / folder.path).string()));
}

Result<SavedFiles::Folder*> SavedFiles::enter(Folder& parent, const std::string& name,
                                              bool claims) {
  const std::string wanted = parent.path.empty() ? name : parent.path + '/' + name;
  if (const auto open = folders_.find(wanted); open != folders_.end()) return &open->second;
  const auto place = find_place(parent, name, kFolderOwner, claims);
  if (!place) return tl::unexpected(place.error());
  if (!*place) return nullptr;
  const char* const called = (*place)->name.c_str();
  if (claims && ::mkdirat(parent.fd.get(), called, 0755) == 0) {
    parent.unsynced = true;
  } else if (claims && errno != EEXIST) {
    return tl::unexpected(failed(errno, "create", (*place)->path()));
  }
  FileDescriptor fd(::openat(parent.fd.get(), called, kOpenFolder));
  if (fd.get() < 0) {
    if (!claims && errno == ENOENT) return nullptr;
    return tl::unexpected(failed(errno, "open", (*place)->path()));
  }
  return &folders_.emplace(wanted, Folder{.fd = std::move(fd), .path = (*place)->path()})
              .first->second;
}

Result<std::optional<SavedFiles::Place>> SavedFiles::place_of(const Url& url, bool claims) {
  if (folders_.size() > kOpenFolders) {
    if (auto closed = close_folders(); !closed) return tl::unexpected(closed.error());
  }
  const SavedFileName name = saved_file_name(url, longest_name_);
  Folder* folder = &root_;
  for (const std::string& each : name.folders) {
    const auto entered = enter(*folder, each, claims);
    if (!entered) return tl::unexpected(entered.error());
    if (*entered == nullptr) return std::nullopt;
    folder = *entered;
  }
  return find_place(*folder, name.file, without_credentials(url.href_without_fragment()), claims);
}

Result<std::string> SavedFiles::finish(NewFile&& file, const Url& url) {
  const OneAtATime::Use use(using_);
  NewFile finished = std::move(file);
  if (sync_) {
    if (auto synced = sync_file(finished.fd_.get(), finished.path_); !synced)
      return tl::unexpected(synced.error());
  }
  for (bool again = false;; again = true) {
    const auto place = place_of(url, true);
    if (!place && (again || place.error().code != ErrorCode::kNotFound))
      return tl::unexpected(place.error());
    if (place) {
      if (auto committed = names_->commit(); !committed) return tl::unexpected(committed.error());
      Folder& folder = *(*place)->folder;
      if (::renameat(own_.get(), finished.name_.c_str(), folder.fd.get(), (*place)->name.c_str()) ==
          0) {
        folder.unsynced = true;
        finished.name_.clear();
        return (*place)->path();
      }
      if (errno != ENOENT || again)
        return tl::unexpected(failed(errno, "create", (*place)->path()));
    }
    // A folder that is open was deleted.
    if (auto closed = close_folders(); !closed) return tl::unexpected(closed.error());
  }
}

Result<std::string> SavedFiles::save(const Url& url, std::string_view body) {
  auto file = create();
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(body); !written) return tl::unexpected(written.error());
  return finish(*std::move(file), url);
}

Result<std::optional<std::string>> SavedFiles::find(const Url& url) {
  const OneAtATime::Use use(using_);
  const auto place = place_of(url, false);
  if (!place) return tl::unexpected(place.error());
  if (!*place) return std::nullopt;
  return (*place)->path();
}

Result<void> SavedFiles::sync() {
  if (!sync_) return {};
  const auto sync_folder = [this](Folder& folder) -> Result<void> {
    if (!folder.unsynced) return {};
    if (::fsync(folder.fd.get()) != 0) return tl::unexpected(failed(errno, "sync", folder.path));
    folder.unsynced = false;
    return {};
  };
  for (auto& [path, folder] : folders_) {
    if (auto synced = sync_folder(folder); !synced) return synced;
  }
  return sync_folder(root_);
}

Result<void> SavedFiles::close_folders() {
  if (auto synced = sync(); !synced) return synced;
  folders_.clear();
  return {};
}

}  // namespace trawl
