// RunRecovery: brings the runs that RocksDB's log refers to, while the log is replayed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/wal_filter.h>

#include "trawl/result.h"

#include "frontier/store/run_files.h"

namespace trawl {

// Hands over the run of each reference, for the memtable. A batch with a reference whose run is
// missing or damaged counts as a damaged record of the log: with kPointInTimeRecovery the replay
// ends before it, and later batches, which depend on it, are dropped as well; RocksDB refuses to
// open the database if a column family has later changes in tables already.
//
// The same goes for a batch before which others are missing: after a power loss a log may lack its
// end, which RocksDB does not notice, while the next log has its beginning.
class RunRecovery final : public rocksdb::WalFilter {
 public:
  // `family`: the name of kPending.
  RunRecovery(std::filesystem::path directory, std::string family,
              std::shared_ptr<RunHandover> handover)
      : directory_(std::move(directory)),
        family_(std::move(family)),
        handover_(std::move(handover)) {}

  void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& logs,
                                const std::map<std::string, std::uint32_t>& ids) override;
  WalProcessingOption LogRecordFound(unsigned long long log, const std::string& name,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* new_batch, bool* changed) override;
  const char* Name() const override { return "trawl.RunRecovery"; }

  // Why a run could not be read, if that made the opening fail: it may be whole.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  const std::filesystem::path directory_;
  const std::string family_;
  const std::shared_ptr<RunHandover> handover_;
  std::optional<std::uint32_t> id_;    // of the family; nothing if it is not there yet
  std::uint64_t first_log_ = 0;        // what older ones say of the family is in tables
  std::optional<std::uint64_t> next_;  // RocksDB's number of the next batch
  // The log whose last batch was empty.
  std::optional<std::uint64_t> begun_empty_;
  std::optional<Error> failure_;
};

}  // namespace trawl
