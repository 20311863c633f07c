#include "frontier/store/run_recovery.h"

#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

#include "base/coding.h"
#include "frontier/store/queue_run.h"

namespace trawl {

namespace {

using rocksdb::Slice;
using rocksdb::Status;

// The references of a batch.
class References final : public rocksdb::WriteBatch::Handler {
 public:
  explicit References(std::uint32_t family) : family_(family) {}

  Status PutCF(std::uint32_t family, const Slice& key, const Slice& value) override {
    if (family != family_ || key != Slice(kRunReferenceKey.data(), kRunReferenceKey.size()))
      return Status::OK();
    const auto reference = RunReference::decode({value.data(), value.size()});
    if (!reference) return Status::Corruption("a reference to a run cannot be decoded");
    places.push_back(reference->place);
    return Status::OK();
  }
  Status DeleteCF(std::uint32_t, const Slice&) override { return Status::OK(); }
  Status SingleDeleteCF(std::uint32_t, const Slice&) override { return Status::OK(); }
  Status DeleteRangeCF(std::uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status MergeCF(std::uint32_t, const Slice&, const Slice&) override { return Status::OK(); }

  std::vector<RunPlace> places;

 private:
  const std::uint32_t family_;
};

}  // namespace

void RunRecovery::ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& logs,
                                           const std::map<std::string, std::uint32_t>& ids) {
  const auto id = ids.find(family_);
  if (id == ids.end()) return;
  id_ = id->second;
  const auto log = logs.find(*id_);
  first_log_ = log == logs.end() ? 0 : log->second;
}

rocksdb::WalFilter::WalProcessingOption RunRecovery::LogRecordFound(
    unsigned long long log, const std::string&, const rocksdb::WriteBatch& batch,
    rocksdb::WriteBatch* new_batch, bool* changed) {
  using enum WalProcessingOption;
  // A batch begins with the number of its first change.
  const auto number = Decoder(batch.Data()).fixed<std::uint64_t>();
  if (next_ && number > *next_ && log != begun_empty_) return kCorruptedRecord;
  begun_empty_.reset();
  // RocksDB begins the log after a recovery that dropped something with an empty batch, whose
  // number may be lower than that of its next one requires.
  if (batch.Count() == 0) begun_empty_ = log;
  const auto accept = [&] {
    next_ = number + static_cast<std::uint64_t>(batch.Count());
    return kContinueProcessing;
  };
  // The file of a run is removed when the run is in a table.
  if (!id_ || log < first_log_) return accept();
  References references(*id_);
  if (!batch.Iterate(&references).ok()) return kCorruptedRecord;
  std::vector<std::shared_ptr<RunBytes>> runs;
  for (const RunPlace& place : references.places) {
    auto run = RunFiles::read(directory_, place);
    if (!run) {
      // It may be whole, so it is not dropped. RocksDB ends a recovery in which a filter adds to a
      // batch.
      failure_ = std::move(run.error());
      for (int n = batch.Count(); n >= 0; --n)
        static_cast<void>(new_batch->Put(Slice(), Slice()));
      *changed = true;
      return kContinueProcessing;
    }
    if (!*run) return kCorruptedRecord;
    runs.push_back(std::make_shared<RunBytes>(std::move(**run)));
  }
  for (auto& run : runs)
    handover_->give(std::move(run));
  return accept();
}

}  // namespace trawl
