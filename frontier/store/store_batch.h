// StoreBatch: changes of a store that are written together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/store/counters.h"
#include "frontier/store/host_record.h"
#include "frontier/store/ledger_record.h"
#include "frontier/store/queue_run.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_families.h"

namespace trawl {

// Names a message of another crawler, or a command for the owner of a bucket: the session of its
// sender, and a number.
using MessageId = std::array<char, 16>;

// Receives the changes of a batch, in the order in which they were added: StoreBatch::visit().
// What the views point to is valid during the call.
class StoreChanges {
 public:
  virtual ~StoreChanges() = default;
  virtual void add_pending(HostId host, const QueueOrder& order, std::string_view record) = 0;
  virtual void remove_pending(HostId host, const QueueOrder& order) = 0;
  virtual void add_deferred(const DeferredUrl& url) = 0;
  virtual void remove_deferred(const DeferredUrl& url) = 0;
  virtual void log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints) = 0;
  virtual void set_host(HostId host, const HostRecord& record) = 0;
  virtual void remove_host(HostId host) = 0;
  virtual void set_aside(Fingerprint fingerprint, std::string_view value) = 0;
  virtual void remove_set_aside(Fingerprint fingerprint) = 0;
  virtual void set_counters(const Counters& counters) = 0;
  virtual void take_message(const MessageId& message) = 0;
  // Not every store has commands, counts, a ledger, depths, and rules.
  virtual void take_command(const MessageId&) {}
  virtual void count_admitted(HostId, std::string_view) {}
  virtual void set_ledger(Fingerprint, const LedgerRecord&) {}
  virtual void lower_depth(Fingerprint, std::uint32_t) {}
  virtual void forget_depth(Fingerprint) {}
  virtual void set_aside_rules(std::string_view) {}
};

// One buffer holds all keys and values, encoded as RocksStore stores them. visit() decodes them for
// others.
class StoreBatch {
 public:
  // Each key in kPending must be put at most once and deleted at most once: RocksStore uses
  // RocksDB's SingleDelete.
  void add_pending(HostId host, const QueueOrder& order, std::string_view record);
  void remove_pending(HostId host, const QueueOrder& order);
  // The same as add_pending() for each URL of these parts of a run, which follow each other; their
  // sequences ascend from the first one's. What is written to a file of it is
  // (QueueRun::written()).
  void add_run(const std::shared_ptr<const QueueRun>& run, std::span<const QueueRun::Part> parts);
  void add_deferred(std::int64_t not_before, std::uint64_t sequence, HostId host,
                    std::int32_t priority, std::string_view record);
  void remove_deferred(const DeferredUrl& url);
  // Logs the fingerprints of the admissions `first`, `first` + 1, ...
  void log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints);
  void set_host(HostId host, const HostRecord& record);
  void remove_host(HostId host);
  void set_ledger(Fingerprint fingerprint, const LedgerRecord& record);
  // Stores `depth` unless a smaller one is stored already.
  void lower_depth(Fingerprint fingerprint, std::uint32_t depth);
  void forget_depth(Fingerprint fingerprint);
  // `value`: encode_set_aside().
  void set_aside(Fingerprint fingerprint, std::string_view value);
  void remove_set_aside(Fingerprint fingerprint);
  // Stores the name of the profile that the keys of URLs set aside follow; empty: none.
  void set_aside_rules(std::string_view profile);
  void set_counters(const Counters& counters);
  // A message of the inbox was read, and what it brought is in this batch or known. Only for stores
  // with an inbox.
  void take_message(const MessageId& message) { messages_.push_back(message); }
  // The same for a command, whose effects are in this batch or earlier ones.
  void take_command(const MessageId& command) { commands_.push_back(command); }
  // One URL more was admitted of the host with this name. Only for stores that count them.
  void count_admitted(HostId host, std::string name) {
    counted_.emplace_back(host, std::move(name));
  }

  // Errors: kCorrupt, and nothing else; a batch filled by these functions has none.
  Result<void> visit(StoreChanges& changes) const;

  // kPutRun: `key` is the header of a run, `value` its bytes; see RunReader.
  enum class Kind : std::uint8_t { kPut, kDelete, kSingleDelete, kMerge, kPutRun };
  struct Change {
    StoreFamily family;
    Kind kind;
    std::string_view key;
    std::string_view value;  // of deletions: nothing that the store needs
    // If the value is all of a run, and in a file.
    const std::shared_ptr<RunBytes>* in_file = nullptr;
  };
  std::size_t size() const noexcept { return entries_.size(); }
  // Valid until the batch changes.
  Change change(std::size_t i) const;
  // Without runs that are in files.
  std::size_t bytes() const noexcept { return bytes_.size() + run_bytes_; }
  // In the order in which they were taken; not among the changes.
  std::span<const MessageId> messages() const noexcept { return messages_; }
  std::span<const MessageId> commands() const noexcept { return commands_; }
  bool empty() const noexcept { return entries_.empty() && messages_.empty() && commands_.empty(); }
  void clear();

 private:
  struct Entry {
    std::size_t offset;      // of a run: where its header is
    std::uint32_t key_size;  // of a run: its place in runs_
    std::uint32_t value_size;
    StoreFamily family;
    Kind kind;
  };
  void add(StoreFamily family, Kind kind, std::string_view key, std::string_view value = {});
  static bool visit(const Change& change, StoreChanges& changes);
  static bool visit_run(const Change& change, StoreChanges& changes);
  static bool visit_by_fingerprint(const Change& change, StoreChanges& changes);

  std::string bytes_;
  std::vector<Entry> entries_;
  struct Run {
    std::shared_ptr<const QueueRun> run;
    std::string_view bytes;

    bool is_in_file() const noexcept {
      const RunBytes& all = *run->shared();
      return all.place && bytes.size() == all.bytes.size();
    }
  };
  std::vector<Run> runs_;
  std::size_t run_bytes_ = 0;
  std::vector<MessageId> messages_, commands_;
  std::vector<std::pair<HostId, std::string>> counted_;
};

}  // namespace trawl
