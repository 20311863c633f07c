// FilterStore: the filters of a directory, with their log and checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/result.h"

#include "crawler/resp/catalog.h"
#include "crawler/resp/checkpoint.h"
#include "crawler/resp/filter_log.h"
#include "crawler/resp/served_filter.h"
#include "crawler/resp/store_lock.h"

namespace trawl::resp {

struct StoreOptions {
  std::filesystem::path directory;
  std::uint64_t max_memory = std::uint64_t{1} << 30;  // of all filters
  std::size_t max_filters = 10'000;
};

// What open() found, for the log.
struct StoreOpening {
  std::size_t filters = 0;
  std::size_t read_in_place = 0;
  std::uint64_t changes_replayed = 0;
  std::uint64_t torn_bytes = 0;
  std::vector<std::string> warnings;
};

// Used by the server's thread, except log().commit() and Checkpoint::write().
class FilterStore {
 public:
  // Creates the directory if its parent exists. A filter that does not fit into memory is read in
  // place, and so is each file NAME.filter. Errors: kInUse, kCorrupt, kUnsupportedVersion,
  // kNoSpace, kIo; kInvalidArgument for a directory that holds something else.
  static Result<std::unique_ptr<FilterStore>> open(const StoreOptions& options);

  ServedFilter* find(std::string_view name) const;
  std::size_t size() const noexcept { return by_number_.size(); }
  const std::map<std::uint64_t, std::unique_ptr<ServedFilter>>& all() const { return by_number_; }
  // Changes when a filter comes or goes: pointers to filters are valid until then.
  std::uint64_t generation() const noexcept { return generation_; }
  bool is_file(const ServedFilter& filter) const noexcept;

  // `plan` without a hash key. Errors: kNoSpace for memory, kAlreadyExists, kUnavailable if there
  // are as many filters as allowed, kInvalidArgument.
  Result<ServedFilter*> create(FilterPlan plan);
  // Not for files.
  void drop(ServedFilter& filter);
  // As ServedFilter's, and writes what changed to the log.
  AddProgress add(ServedFilter& filter, std::span<const Fingerprint> keys, std::span<bool> fresh);
  CuckooChain::Added add_copy(ServedFilter& filter, Fingerprint key);
  // After an answer that a cuckoo filter has the key: add() does so itself.
  void note_known(const ServedFilter& filter, Fingerprint key);
  bool erase(ServedFilter& filter, Fingerprint key);

  FilterLog& log() noexcept { return *log_; }
  const FilterLog& log() const noexcept { return *log_; }
  const StoreOptions& options() const noexcept { return options_; }
  const StoreOpening& opening() const noexcept { return opening_; }
  std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }

  // Whether enough was logged for a checkpoint to pay: as much as it would write.
  bool wants_checkpoint() const;
  bool in_checkpoint() const noexcept { return in_checkpoint_; }
  bool has_changes() const;
  // Copies the cuckoo filters that changed. write() it, then finish it here. Errors: kNoSpace.
  Result<Checkpoint> begin_checkpoint();
  // `written`: what write() returned. Publishes the files and removes what they replace. On an
  // error, also the one in `written`, nothing is lost: the log stays.
  Result<void> finish_checkpoint(const Checkpoint& checkpoint, const Result<void>& written);

 private:
  struct Own {
    // As the catalog has it: no files if it is only in the log.
    Catalog::Entry saved = {};
    bool dirty = false;  // changed since
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>{}(name);
    }
  };
  friend class StoreLoader;

  FilterStore(StoreOptions options, StoreLock lock)
      : options_(std::move(options)), lock_(std::move(lock)) {}
  ServedFilter* insert(std::unique_ptr<ServedFilter> filter);
  void take_out(const ServedFilter& filter);
  std::uint64_t allowed(const ServedFilter& filter) const;
  void account(std::uint64_t before, const ServedFilter& filter);
  Catalog catalog_after(const Checkpoint& checkpoint) const;
  void remove_old(const Checkpoint& checkpoint, const std::vector<std::uint64_t>& files) const;

  StoreOptions options_;
  StoreLock lock_;
  StoreOpening opening_;
  std::map<std::uint64_t, std::unique_ptr<ServedFilter>> by_number_;
  std::unordered_map<std::string, ServedFilter*, NameHash, std::equal_to<>> by_name_;
  std::unordered_map<std::uint64_t, Own> own_;
  std::unique_ptr<FilterLog> log_;
  std::vector<Fingerprint> fresh_;  // kept for their memory
  std::vector<Fingerprint> known_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t next_filter_ = 1;
  std::uint64_t next_file_ = 1;
  std::uint64_t old_log_bytes_ = 0;  // of segments before the current one
  bool in_checkpoint_ = false;
};

}  // namespace trawl::resp
