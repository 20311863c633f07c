#include "frontier/store/store_format.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "base/coding.h"
#include "base/database_state.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

// Reads the format number without changing anything.
Result<void> check_format_of(const std::string& directory, const RocksOptions& options) {
  rocksdb::Options reading(options.database, rocksdb::ColumnFamilyOptions());
  reading.create_if_missing = false;
  rocksdb::DB* opened = nullptr;
  auto status = rocksdb::DB::OpenForReadOnly(reading, directory, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::string value;
  if (status.ok())
    status = db->Get({}, rocksdb::Slice(kFormatKey.data(), kFormatKey.size()), &value);
  if (status.IsNotFound()) return {};
  if (!status.ok())
    return tl::unexpected(store_error(status, fmt::format("open {} as", directory)));
  return check_store_format(value);
}

}  // namespace

Error store_error(const rocksdb::Status& status, std::string_view doing) {
  const std::string text = status.ToString();
  ErrorCode code = ErrorCode::kIo;
  if (status.IsNoSpace()) code = ErrorCode::kNoSpace;
  if (status.IsCorruption()) code = ErrorCode::kCorrupt;
  for (const char* refused : {"Permission denied", "Read-only file system"}) {
    if (text.find(refused) != std::string::npos) code = ErrorCode::kPermission;
  }
  return store_error(Error{code, text}, doing);
}

Error store_error(const Error& cause, std::string_view doing) {
  return {cause.code, fmt::format("cannot {} the store: {}; {}", doing, cause.message,
                                  database_advice(cause.code))};
}

tl::unexpected<Error> store_damaged(std::string_view what) {
  return error(
      ErrorCode::kCorrupt,
      fmt::format("the store is damaged: {}; restore the state directory from a backup, or "
                  "start over",
                  what));
}

Result<void> check_store_format(std::string_view value) {
  Decoder in(value);
  const auto format = in.fixed<std::uint32_t>();
  if (!in.done() || format == 0) return store_damaged("its format number cannot be decoded");
  if (format < kOldestStoreFormat) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("the store has format {}; this version of Trawl reads formats {} to {}: finish "
                    "that crawl with the version of Trawl that began it",
                    format, kOldestStoreFormat, kStoreFormat));
  }
  if (format > kStoreFormat) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("the store has format {}; this version of Trawl reads up to format {}: use a "
                    "newer one",
                    format, kStoreFormat));
  }
  return {};
}

Result<void> check_store_families(const std::filesystem::path& directory,
                                  const RocksOptions& options) {
  std::vector<std::string> there;
  const auto status = rocksdb::DB::ListColumnFamilies(options.database, directory.string(), &there);
  if (!status.ok())
    return tl::unexpected(store_error(status, fmt::format("open {} as", directory.string())));
  std::vector<std::string> wanted;
  for (const auto& family : options.families)
    wanted.push_back(family.name);
  std::ranges::sort(wanted);
  std::ranges::sort(there);
  if (there == wanted) return {};
  return check_format_of(directory.string(), options);
}

}  // namespace trawl
