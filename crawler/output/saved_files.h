// SavedFiles: a tree of files, one for each URL, which nothing in a URL or on the disk leads out
// of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trawl/result.h"
#include "trawl/url.h"

#include "base/file_io.h"
#include "base/one_thread.h"
#include "crawler/output/content_index.h"

namespace trawl {

// Files are named by saved_file_name(). A small database in the tree (kOwnFolder) remembers which
// URL a name belongs to, so no URL takes the file of another: the second gets a marked name, as
// does a URL whose name is in use by a folder, differs from another's by case only, or by a file
// that is not from here. Folders are opened one after the other without following symbolic links.
//
// A file appears whole or not at all: it is written under another name and renamed. Before that its
// name is entered in the database, so that a file without an entry is never one of ours.
//
// Not thread-safe.
class SavedFiles {
 public:
  // The folder of the database and of unfinished files. No host is called that.
  static constexpr std::string_view kOwnFolder = ".trawl";

  // Creates `root` if it is missing, and deletes the unfinished files of a crash. `sync`: files
  // survive a power loss when finish() and sync() have returned. Errors: kInUse if another process
  // has it open; kInvalidArgument if `root` is a symbolic link.
  static Result<std::unique_ptr<SavedFiles>> open(const std::filesystem::path& root, bool sync);
  // Whether there is a file or folder in `root` that is not our own.
  static Result<bool> probe(const std::filesystem::path& root);

  // A file that is being written.
  class NewFile {
   public:
    NewFile(NewFile&& other) noexcept = default;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();  // deletes it unless it was finished
    Result<void> write(std::string_view bytes) { return write_all(fd_.get(), bytes, path_); }

   private:
    friend class SavedFiles;
    NewFile(int folder, FileDescriptor fd, std::string name, std::string path)
        : folder_(folder), fd_(std::move(fd)), name_(std::move(name)), path_(std::move(path)) {}
    int folder_;
    FileDescriptor fd_;
    std::string name_;  // empty after a move
    std::string path_;  // for messages
  };
  Result<NewFile> create();
  // Gives the file its name, in place of the URL's earlier file; returns its path in the tree.
  Result<std::string> finish(NewFile&& file, const Url& url);
  // create(), write(), finish().
  Result<std::string> save(const Url& url, std::string_view body);
  // The path of the URL's file; none: it has none.
  Result<std::optional<std::string>> find(const Url& url);
  // Makes the names of finished files survive a power loss, if `sync` was given.
  Result<void> sync();

  static constexpr std::uint64_t kExpectedFiles = 1'000'000;  // a hint

 private:
  struct Folder {
    FileDescriptor fd;
    std::string path;       // in the tree; empty: its root
    bool unsynced = false;  // it got a name since the last sync()
  };
  // A name in a folder.
  struct Place {
    Folder* folder;
    std::string name;
    std::string path() const { return folder->path.empty() ? name : folder->path + '/' + name; }
  };
  enum class Taking : std::uint8_t { kOurs, kUnused, kOccupied };

  explicit SavedFiles(std::filesystem::path root, bool sync)
      : root_path_(std::move(root)), sync_(sync) {}
  Result<void> open_own_folder();
  Result<void> remove_unfinished();
  // With `claims`, what is unused is entered as the owner's.
  Result<Taking> take(const Place& place, const std::string& owner, bool claims);
  // The first of the names for `name` that is the owner's, or becomes it; none if not `claims`.
  Result<std::optional<Place>> find_place(Folder& folder, const std::string& name,
                                          const std::string& owner, bool claims);
  Result<Folder*> enter(Folder& parent, const std::string& name, bool claims);  // null: none
  Result<std::optional<Place>> place_of(const Url& url, bool claims);
  Result<void> close_folders();
  Error failed(int code, std::string_view what, std::string_view path) const;

  const std::filesystem::path root_path_;
  const bool sync_;
  Folder root_;
  FileDescriptor own_;
  std::size_t longest_name_ = 255;
  std::unique_ptr<ContentIndex> names_;  // path without case -> its URL, or kFolderOwner
  std::unordered_map<std::string, Folder> folders_;  // open ones, by the path asked for
  std::uint64_t created_ = 0;
  OneAtATime using_;
};

}  // namespace trawl
