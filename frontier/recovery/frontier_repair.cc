// When no source has every admission (filter_recovery.cc), repair collects what each of them still
// has: the newest usable checkpoint, the ledger, the log with its gaps, and the URLs that wait. It
// always includes the waiting URLs, so that none of them is admitted a second time. Admitted URLs
// that no source has were fetched, or dropped, before: if a link leads to one, it is fetched once
// more, which loses nothing.
#include "frontier/recovery/frontier_repair.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "frontier/recovery/checkpointer.h"
#include "frontier/recovery/filter_recovery.h"
#include "frontier/recovery/state_directory.h"
#include "frontier/store/rocks_store.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

std::string unreadable(std::string_view what, const Error& error) {
  return fmt::format("not all of {} can be read ({}); the readable part was used", what,
                     error.message);
}

class Salvager {
 public:
  Salvager(const Store& store, const UrlIdentity& identity, GrowingBloomFilter& filter,
           SalvageReport& salvage)
      : store_(store), identity_(identity), feeder_(filter), salvage_(salvage) {}

  // Returns whether the ledger has all admitted URLs.
  bool use_ledger(std::uint64_t urls) {
    const auto records = insert_ledger(store_, feeder_);
    feeder_.finish();
    if (!records) {
      note(unreadable("the ledger", records.error()));
      return false;
    }
    note(fmt::format("the ledger has {} of the {} admitted URLs", *records, urls));
    return *records >= urls;
  }

  void use_log(std::uint64_t admitted) {
    std::uint64_t logged = 0;
    std::uint64_t next = 0;
    std::uint64_t whole_from = 0;  // the log has no gap between this and `next`
    const auto read = store_.replay_admissions(
        0, [&](std::uint64_t first, std::span<const Fingerprint> fingerprints) {
          if (first > next) whole_from = first;
          next = first + fingerprints.size();
          logged += fingerprints.size();
          for (const Fingerprint fingerprint : fingerprints)
            feeder_.add(fingerprint);
        });
    feeder_.finish();
    note(fmt::format("the admission log has {} of the {} admissions", logged, admitted));
    if (!read) note(unreadable("the admission log", read.error()));
    salvage_.log_start = read && next == admitted ? whole_from : admitted;
  }

  void use_waiting() {
    const auto pending =
        store_.visit_pending(std::nullopt, [&](HostId, const QueueOrder&, std::string_view record) {
          add_waiting(record);
          return true;
        });
    if (!pending) note(unreadable("the queues", pending.error()));
    const auto deferred = store_.visit_deferred([&](const DeferredUrl& url) {
      add_waiting(url.record);
      return true;
    });
    if (!deferred) note(unreadable("the deferred URLs", deferred.error()));
    const auto set_aside =
        store_.visit_set_aside(std::nullopt, [&](Fingerprint, std::string_view value) {
          const auto record = decode_set_aside(value);
          if (record && record->was_queued) add_waiting(record->url_record);
          return true;
        });
    if (!set_aside) note(unreadable("the URLs set aside", set_aside.error()));
    const std::uint64_t fresh = feeder_.finish();
    note(fmt::format("{} URLs wait; {} of them were in no other source", waiting_, fresh));
    if (damaged_ > 0) note(fmt::format("{} waiting URLs are damaged and were skipped", damaged_));
  }

 private:
  void note(std::string text) { salvage_.notes.push_back(std::move(text)); }

  void add_waiting(std::string_view record) {
    const auto decoded = decode_record(record);
    const auto fingerprint = decoded ? identity_.of(*decoded) : std::nullopt;
    if (!fingerprint) {
      ++damaged_;
      return;
    }
    ++waiting_;
    feeder_.add(*fingerprint);
  }

  const Store& store_;
  const UrlIdentity& identity_;
  BatchInserter feeder_;
  SalvageReport& salvage_;
  std::uint64_t waiting_ = 0;
  std::uint64_t damaged_ = 0;
};

// The newest usable checkpoint. (There may be one although open() failed, if the log after it has
// gaps.) Of layers that are damaged, the intact parts are used.
std::optional<GrowingBloomFilter> newest_checkpoint(const std::filesystem::path& directory,
                                                    const Manifest& manifest,
                                                    std::uint64_t admitted,
                                                    const GrowingBloomFilter::Options& fresh,
                                                    SalvageReport& salvage) {
  for (auto entry = manifest.checkpoints.rbegin(); entry != manifest.checkpoints.rend(); ++entry) {
    const auto path = Manifest::checkpoint_path(directory, entry->number);
    std::vector<std::string> damage;
    auto filter = load_intact_checkpoint(path, *entry, admitted, fresh, damage);
    if (!filter) continue;
    for (const std::string& problem : damage)
      salvage.notes.push_back(problem + "; the rest of it was used");
    salvage.notes.push_back(
        fmt::format("{} has the first {} admissions", path.string(), entry->sequence));
    return std::move(*filter);
  }
  return std::nullopt;
}

Result<std::unique_ptr<Store>> open_store(const EmbeddedOptions& options) {
  return RocksStore::open(
      store_path(options.directory),
      {.sync = options.store.durability == Durability::kSync,
       .memory = MemoryPlan::of(std::max(options.store.max_memory, kMinFrontierMemory))});
}

// The error for a directory without a crawl: if there is a store with URLs, its manifest is lost.
Error explain_no_crawl(const EmbeddedOptions& options, Error error) {
  if (error.code != ErrorCode::kNotFound || !holds_store(options.directory)) return error;
  const auto lock = DirectoryLock::acquire(options.directory);
  if (!lock) return lock.error();
  const auto store = open_store(options);
  if (!store) return store.error();
  const auto counters = (*store)->counters();
  return counters && counters->admitted > 0 ? lost_manifest(options.directory) : error;
}

// Publishes the filter as the only checkpoint.
Result<void> publish_salvaged(const std::filesystem::path& directory, const Manifest& manifest,
                              Store& store, const GrowingBloomFilter& filter,
                              const SalvageReport& salvage, std::uint64_t admitted) {
  Manifest next = manifest;
  const auto number = next.take_checkpoint_number(directory);
  if (!number) return tl::unexpected(number.error());
  next.checkpoints = {{.number = *number, .sequence = admitted, .end = admitted}};
  next.log_start = salvage.log_start;
  // The file and the store must agree after a power loss, so the store is synced first.
  return write_checkpoint(filter, {}, Manifest::checkpoint_path(directory, *number), {},
                          [&] { return store.sync(); })
      .and_then([&] { return next.publish(directory); });
}

Result<RepairReport> repair_crawl(const EmbeddedOptions& options, const Manifest& manifest,
                                  Store& store) {
  const auto counters = store.counters();
  if (!counters) return tl::unexpected(counters.error());
  const std::uint64_t admitted = counters->admitted;
  const std::uint64_t urls = counters->urls();
  const auto fresh = filter_options(options, manifest);
  OpenReport found;
  {
    Manifest tried = manifest;
    const auto whole = recover_filter(options.directory, tried, store, fresh, found);
    if (whole)
      return RepairReport{.repaired = false, .known = urls, .notes = std::move(found.warnings)};
    if (whole.error().code != ErrorCode::kCorrupt) return tl::unexpected(whole.error());
  }
  SalvageReport salvage{.notes = std::move(found.warnings)};
  auto filter = salvage_filter(options.directory, manifest, store, options.seen.profile, fresh,
                               *counters, salvage);
  if (!filter) return tl::unexpected(filter.error());
  auto published = publish_salvaged(options.directory, manifest, store, *filter, salvage, admitted);
  if (!published) return tl::unexpected(published.error());
  const std::uint64_t forgotten = urls - std::min(urls, salvage.known);
  if (forgotten > 0) {
    salvage.notes.push_back(
        fmt::format("{} of the {} admitted URLs are no longer known; all of them were fetched or "
                    "dropped before. If links lead to them, they are fetched once more",
                    forgotten, urls));
  }
  return RepairReport{.repaired = true,
                      .known = salvage.known,
                      .forgotten = forgotten,
                      .notes = std::move(salvage.notes)};
}

}  // namespace

Result<GrowingBloomFilter> salvage_filter(const std::filesystem::path& directory,
                                          const Manifest& manifest, const Store& store,
                                          const Profile& profile,
                                          const GrowingBloomFilter::Options& fresh,
                                          const Counters& counters, SalvageReport& salvage) {
  auto filter = newest_checkpoint(directory, manifest, counters.admitted, fresh, salvage);
  if (!filter) {
    auto made = make_filter(fresh, counters.urls());
    if (!made) return made;
    filter = std::move(*made);
  }
  const UrlIdentity identity(KeyedHash::from_key(manifest.hash_key), profile);
  Salvager salvager(store, identity, *filter, salvage);
  const bool all = manifest.ledger && salvager.use_ledger(counters.urls());
  salvager.use_log(counters.admitted);
  salvager.use_waiting();
  salvage.known = all ? counters.urls() : std::min(filter->stats().inserted, counters.urls());
  return std::move(*filter);
}

Result<RepairReport> repair_frontier(const EmbeddedOptions& given) {
  EmbeddedOptions options = given;
  options.mode = OpenMode::kResume;
  const auto state = open_state_directory(options);
  if (!state) return tl::unexpected(explain_no_crawl(options, state.error()));
  const auto store = open_store(options);
  if (!store) return tl::unexpected(store.error());
  return repair_crawl(options, state->manifest, **store);
}

}  // namespace trawl
