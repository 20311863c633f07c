#include "frontier/store/new_database_env.h"

#include <atomic>
#include <string>
#include <utility>

#include <rocksdb/file_system.h>

#include "base/database_state.h"

namespace trawl {

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// Relaxed: the thread that creates the database sets it before it lets others write.
using Syncs = std::atomic<bool>;

class NewFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  NewFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::shared_ptr<const Syncs> syncs)
      : FSWritableFileOwnerWrapper(std::move(file)), syncs_(std::move(syncs)) {}
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    if (!syncs_->load(std::memory_order_relaxed)) return IOStatus::OK();
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    if (!syncs_->load(std::memory_order_relaxed)) return IOStatus::OK();
    return FSWritableFileOwnerWrapper::Fsync(options, context);
  }

 private:
  const std::shared_ptr<const Syncs> syncs_;
};

class NewDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  NewDirectory(std::unique_ptr<rocksdb::FSDirectory>&& directory,
               std::shared_ptr<const Syncs> syncs)
      : FSDirectoryWrapper(std::move(directory)), syncs_(std::move(syncs)) {}
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    if (!syncs_->load(std::memory_order_relaxed)) return IOStatus::OK();
    return FSDirectoryWrapper::Fsync(options, context);
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions& why) override {
    if (!syncs_->load(std::memory_order_relaxed)) return IOStatus::OK();
    return FSDirectoryWrapper::FsyncWithDirOptions(options, context, why);
  }

 private:
  const std::shared_ptr<const Syncs> syncs_;
};

}  // namespace

class NewDatabaseEnv::Files final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "TrawlNewDatabase"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* context) override {
    // RocksDB writes its options to a file and parses it to verify it, which takes a third of the
    // creation. It goes on without the file, which it does not read when it opens a database; the
    // next opening writes one.
    if (path.find("/OPTIONS-") != std::string::npos) return IOStatus::IOError("not written");
    auto opened = target()->NewWritableFile(path, options, file, context);
    if (opened.ok() && !syncs_->load(std::memory_order_relaxed))
      *file = std::make_unique<NewFile>(std::move(*file), syncs_);
    return opened;
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* context) override {
    auto opened = target()->NewDirectory(path, options, directory, context);
    if (opened.ok() && !syncs_->load(std::memory_order_relaxed))
      *directory = std::make_unique<trawl::NewDirectory>(std::move(*directory), syncs_);
    return opened;
  }

  void sync_from_now_on() noexcept { syncs_->store(true, std::memory_order_relaxed); }

 private:
  const std::shared_ptr<Syncs> syncs_ = std::make_shared<Syncs>(false);
};

NewDatabaseEnv::NewDatabaseEnv(rocksdb::Env& base)
    : files_(std::make_shared<Files>(base.GetFileSystem())),
      env_(rocksdb::NewCompositeEnv(files_)) {}
NewDatabaseEnv::~NewDatabaseEnv() = default;

rocksdb::Env* NewDatabaseEnv::env() const noexcept {
  return env_.get();
}

Result<void> NewDatabaseEnv::complete(const std::filesystem::path& directory) {
  files_->sync_from_now_on();
  return sync_database(directory);
}

}  // namespace trawl
