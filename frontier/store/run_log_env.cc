#include "frontier/store/run_log_env.h"

#include <string>
#include <utility>

#include <rocksdb/file_system.h>

namespace trawl {

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::shared_ptr<RunFiles> runs)
      : FSWritableFileOwnerWrapper(std::move(file)), runs_(std::move(runs)) {}
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    if (auto synced = sync_runs(); !synced.ok()) return synced;
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    if (auto synced = sync_runs(); !synced.ok()) return synced;
    return FSWritableFileOwnerWrapper::Fsync(options, context);
  }

 private:
  IOStatus sync_runs() {
    const auto synced = runs_->sync();
    if (synced) return IOStatus::OK();
    const std::string& message = synced.error().message;
    return synced.error().code == ErrorCode::kNoSpace ? IOStatus::NoSpace(message)
                                                      : IOStatus::IOError(message);
  }

  const std::shared_ptr<RunFiles> runs_;
};

class LogFiles final : public rocksdb::FileSystemWrapper {
 public:
  LogFiles(const std::shared_ptr<rocksdb::FileSystem>& base, std::shared_ptr<RunFiles> runs)
      : FileSystemWrapper(base), runs_(std::move(runs)) {}
  const char* Name() const override { return "TrawlRunLog"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* context) override {
    auto opened = target()->NewWritableFile(path, options, file, context);
    if (opened.ok() && path.ends_with(".log"))
      *file = std::make_unique<LogFile>(std::move(*file), runs_);
    return opened;
  }

 private:
  const std::shared_ptr<RunFiles> runs_;
};

class RunLogEnv final : public rocksdb::EnvWrapper {
 public:
  RunLogEnv(rocksdb::Env* base, std::shared_ptr<RunFiles> runs) : EnvWrapper(base) {
    file_system_ = std::make_shared<LogFiles>(base->GetFileSystem(), std::move(runs));
  }
  const char* Name() const override { return "TrawlRunLogEnv"; }
};

}  // namespace

std::unique_ptr<rocksdb::Env> run_log_env(rocksdb::Env* base, std::shared_ptr<RunFiles> runs) {
  return std::make_unique<RunLogEnv>(base, std::move(runs));
}

}  // namespace trawl
