#include "frontier/store/store_database.h"

#include <cassert>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/database_state.h"
#include "frontier/store/process_env.h"
#include "frontier/store/run_log_env.h"
#include "frontier/store/store_format.h"

namespace trawl {

namespace {

RocksOptions options_for(const std::filesystem::path& directory, const MemoryPlan& memory) {
  auto options = RocksOptions::of(memory);
  options.database.max_file_opening_threads = table_opening_threads(directory);
  return options;
}

}  // namespace

StoreDatabase::StoreDatabase(const std::filesystem::path& directory, RocksOptions options)
    : directory_(directory),
      options_(std::move(options)),
      runs_(std::make_shared<RunFiles>(directory)),
      env_(run_log_env(process_env(), runs_)),
      recovery_(directory, options_.families[kPending].name, options_.handover) {
  options_.database.env = env_.get();
  options_.database.wal_filter = &recovery_;
}

StoreDatabase::~StoreDatabase() {
  // Before the memtables: the log refers to them.
  runs_->keep_all();
  if (!database_) return;
  for (auto* family : families_)
    database_->DestroyColumnFamilyHandle(family);
  database_->Close();
}

Result<std::unique_ptr<StoreDatabase>> StoreDatabase::open(const std::filesystem::path& directory,
                                                           const MemoryPlan& memory) {
  auto options = options_for(directory, memory);
  const auto prepared = prepare_database(directory);
  if (!prepared) return tl::unexpected(prepared.error());
  if (*prepared == DatabaseState::kHeadless)
    return store_damaged(fmt::format("{} has no file CURRENT", directory.string()));
  const bool is_new = *prepared == DatabaseState::kNew;
  if (!is_new) {
    if (auto known = check_store_families(directory, options); !known)
      return tl::unexpected(known.error());
  }
  std::unique_ptr<StoreDatabase> database(new StoreDatabase(directory, std::move(options)));
  database->is_new_ = is_new;
  const auto status = is_new ? database->create() : database->open_all(false);
  if (auto opened = database->opened(status, "open"); !opened)
    return tl::unexpected(opened.error());
  return database;
}

Result<std::unique_ptr<StoreDatabase>> StoreDatabase::open_to_read(
    const std::filesystem::path& directory, const MemoryPlan& memory) {
  auto options = options_for(directory, memory);
  if (auto known = check_store_families(directory, options); !known)
    return tl::unexpected(known.error());
  std::unique_ptr<StoreDatabase> database(new StoreDatabase(directory, std::move(options)));
  if (auto opened = database->opened(database->open_all(true), "read"); !opened)
    return tl::unexpected(opened.error());
  return database;
}

Result<void> StoreDatabase::opened(const rocksdb::Status& status, std::string_view doing) const {
  end_children_without_threads();
  if (status.ok()) {
    assert(database_ != nullptr && families_.size() == options_.families.size());
    return {};
  }
  const std::string what = fmt::format("{} {} as", doing, directory_.string());
  const auto& unread = recovery_.failure();
  return tl::unexpected(unread ? store_error(*unread, what) : store_error(status, what));
}

// Creates all column families together: DB::Open would add them one by one, writing a file of
// options each time.
rocksdb::Status StoreDatabase::create() {
  auto options = options_.database;
  if (process_env() == rocksdb::Env::Default()) {
    creation_ = std::make_unique<NewDatabaseEnv>(*env_);
    options.env = creation_->env();
  }
  const auto first = options_.families.begin();
  static_assert(kMeta == 0, "RocksDB's default family is the first of ours");
  rocksdb::DB* database = nullptr;
  auto status = rocksdb::DB::Open(rocksdb::Options(options, rocksdb::ColumnFamilyOptions()),
                                  directory_.string(), {*first}, &families_, &database);
  database_.reset(database);
  if (!status.ok()) return status;
  std::vector<rocksdb::ColumnFamilyHandle*> others;
  status = database_->CreateColumnFamilies({first + 1, options_.families.end()}, &others);
  families_.insert(families_.end(), others.begin(), others.end());
  return status;
}

rocksdb::Status StoreDatabase::open_all(bool to_read) {
  const rocksdb::Options options(options_.database, rocksdb::ColumnFamilyOptions());
  const std::string directory = directory_.string();
  const auto& families = options_.families;
  rocksdb::DB* database = nullptr;
  auto status =
      to_read ? rocksdb::DB::OpenForReadOnly(options, directory, families, &families_, &database)
              : rocksdb::DB::Open(options, directory, families, &families_, &database);
  database_.reset(database);
  return status;
}

// All of the log is in tables, so that no older run is referred to.
Result<void> StoreDatabase::complete() {
  if (auto begun = runs_->begin(); !begun)
    return tl::unexpected(store_error(begun.error(), "write to"));
  if (!is_new_) return {};
  if (creation_) {
    if (auto synced = creation_->complete(directory_); !synced) return synced;
  }
  return finish_database(directory_);
}

}  // namespace trawl
