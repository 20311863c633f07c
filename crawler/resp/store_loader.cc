#include "crawler/resp/store_loader.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/directory_entries.h"
#include "base/file_io.h"
#include "crawler/resp/log_frame.h"
#include "crawler/resp/log_replay.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl::resp {

namespace {

constexpr std::string_view kFileSuffix = ".filter";

Result<SnapshotIndex> index_of(const std::string& path) {
  const auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return read_snapshot_index(*file);
}

bool is_of_kind(FilterKind file, ServedKind served) {
  switch (served) {
    case ServedKind::kGrowing:
      return file == FilterKind::kGrowing;
    case ServedKind::kFixed:
      return file == FilterKind::kBlocked;
    case ServedKind::kCuckoo:
      return file == FilterKind::kCuckoo;
  }
  return false;
}

// The memory that the filters of these files take when loaded.
Result<std::uint64_t> memory_of(const FilterPlan& plan, const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const auto& path : paths) {
    const auto index = index_of(path);
    if (!index) return tl::unexpected(index.error());
    const SnapshotHeader& header = index->header;
    // With another key of the hash it would answer wrongly.
    if (!is_of_kind(header.kind, plan.kind) || header.hash_key != plan.hash_key) {
      return error(ErrorCode::kCorrupt,
                   fmt::format("{} is not of the filter {}, as the CATALOG says: restore the file, "
                               "or the directory",
                               path, plan.name));
    }
    for (const auto& section : header.sections)
      bytes += section.words * sizeof(std::uint64_t);
  }
  return bytes;
}

Result<void> check_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  if (!is_entry(directory)) {
    std::filesystem::create_directory(directory, failure);
    if (failure)
      return tl::unexpected(system_error(failure.value(), "cannot create " + directory.string()));
    const auto parent = std::filesystem::canonical(directory, failure).parent_path();
    if (auto synced = sync_directory(parent.string()); !synced) return synced;
  }
  if (!std::filesystem::is_directory(directory, failure))
    return error(ErrorCode::kInvalidArgument, directory.string() + " is not a directory");
  if (is_entry(directory / "MANIFEST")) {
    return error(ErrorCode::kInvalidArgument,
                 directory.string() + " holds a crawl: choose another directory for the filters");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<FilterStore>> FilterStore::open(const StoreOptions& options) {
  if (auto checked = check_directory(options.directory); !checked)
    return tl::unexpected(checked.error());
  auto lock = StoreLock::acquire(options.directory);
  if (!lock) return tl::unexpected(lock.error());
  std::unique_ptr<FilterStore> store(new FilterStore(options, std::move(*lock)));
  if (auto loaded = StoreLoader(*store).read(); !loaded) return tl::unexpected(loaded.error());
  return store;
}

std::uint64_t StoreLoader::memory_left() const {
  return store_.options_.max_memory - std::min(store_.options_.max_memory, store_.memory_bytes_);
}

Result<void> StoreLoader::read() {
  const auto& directory = store_.options_.directory;
  auto catalog = read_catalog(directory);
  if (!catalog) return tl::unexpected(catalog.error());
  const auto segments = log_segments(directory, 0);
  if (!segments) return tl::unexpected(segments.error());
  if (!*catalog) {
    if (!segments->empty()) {
      return error(
          ErrorCode::kCorrupt,
          fmt::format("{} has a log but no CATALOG: restore the directory", directory.string()));
    }
    *catalog = Catalog{};
    if (auto written = write_catalog(directory, **catalog); !written) return written;
  }
  if (auto loaded = load_catalog(**catalog); !loaded) return loaded;
  const auto replayed = replay_log(directory, (*catalog)->first_segment, (*catalog)->sequence,
                                   [&](const LogRecord& record) { return replay(record); });
  if (!replayed) return tl::unexpected(replayed.error());
  store_.opening_.changes_replayed = replayed->records;
  store_.opening_.torn_bytes = replayed->torn_bytes;
  store_.old_log_bytes_ = replayed->bytes;
  store_.log_ =
      std::make_unique<FilterLog>(directory, replayed->next_segment, replayed->next_sequence);
  load_files();
  // Only now: a CATALOG that somebody restored by mistake names files that are not there.
  remove_leftovers(**catalog);
  store_.opening_.filters = store_.size();
  return {};
}

Result<void> StoreLoader::load_catalog(const Catalog& catalog) {
  store_.next_filter_ = catalog.next_filter;
  store_.next_file_ = catalog.next_file;
  for (const auto& entry : catalog.entries)
    if (auto loaded = load_entry(entry); !loaded) return loaded;
  return {};
}

Result<void> StoreLoader::load_entry(const Catalog::Entry& entry) {
  std::vector<std::string> paths;
  for (const std::uint64_t file : entry.files)
    paths.push_back(catalog_filter_path(store_.options_.directory, file).string());
  const bool possible = !paths.empty() && !store_.by_number_.contains(entry.filter) &&
                        store_.find(entry.plan.name) == nullptr &&
                        (paths.size() == 1 || entry.plan.kind == ServedKind::kCuckoo);
  if (!possible) {
    return error(ErrorCode::kCorrupt,
                 fmt::format("{}: the entry of the filter {} is impossible",
                             (store_.options_.directory / "CATALOG").string(), entry.plan.name));
  }
  const auto bytes = memory_of(entry.plan, paths);
  if (!bytes) return tl::unexpected(bytes.error());
  auto body = load_body(entry, *bytes);
  if (!body) return tl::unexpected(body.error());
  auto filter = std::make_unique<ServedFilter>(entry.filter, entry.plan, std::move(*body));
  filter->set_counts(entry.inserted, entry.erased);
  if (filter->is_mapped()) {
    filter->set_crowded(entry.crowded);
    ++store_.opening_.read_in_place;
  }
  store_.own_[entry.filter] = {.saved = entry};
  store_.insert(std::move(filter));
  return {};
}

Result<ServedFilter::Body> StoreLoader::load_body(const Catalog::Entry& entry,
                                                  std::uint64_t bytes) {
  using Body = ServedFilter::Body;
  std::vector<std::string> paths;
  for (const std::uint64_t file : entry.files)
    paths.push_back(catalog_filter_path(store_.options_.directory, file).string());
  if (bytes > memory_left()) {
    ServedFilter::Mapped files;
    for (const auto& path : paths) {
      auto file = MappedFilter::open(path);
      if (!file) return tl::unexpected(file.error());
      files.push_back(std::move(*file));
    }
    return Body(std::move(files));
  }
  if (entry.plan.kind == ServedKind::kCuckoo) {
    auto chain = CuckooChain::load({.capacity = entry.plan.capacity,
                                    .false_positive_rate = entry.plan.rate,
                                    .grows = entry.plan.grows,
                                    .hash = KeyedHash::from_key(entry.plan.hash_key)},
                                   paths, entry.crowded);
    if (!chain) return tl::unexpected(chain.error());
    return Body(std::make_unique<CuckooChain>(std::move(*chain)));
  }
  if (entry.plan.kind == ServedKind::kFixed) {
    auto filter = BlockedBloomFilter::load(paths.front());
    if (!filter) return tl::unexpected(filter.error());
    return Body(std::make_shared<BlockedBloomFilter>(std::move(*filter)));
  }
  auto filter = GrowingBloomFilter::load(paths.front());
  if (!filter) return tl::unexpected(filter.error());
  return Body(std::make_shared<GrowingBloomFilter>(std::move(*filter)));
}

Result<void> StoreLoader::replay(const LogRecord& record) {
  const auto found = store_.by_number_.find(record.filter);
  const bool known = found != store_.by_number_.end();
  if (record.kind == LogRecord::Kind::kCreate) {
    store_.next_filter_ = std::max(store_.next_filter_, record.filter + 1);
    if (known) return {};
    if (store_.find(record.plan.name) != nullptr) {
      return error(ErrorCode::kCorrupt,
                   fmt::format("the log makes the filter {} a second time: restore the directory",
                               record.plan.name));
    }
    auto filter = ServedFilter::create(record.filter, record.plan, memory_left());
    if (!filter) {
      return error(filter.error().code,
                   fmt::format("cannot make the filter {} again, whose changes are in the log: "
                               "{}; start with a higher --max-memory",
                               record.plan.name, filter.error().message));
    }
    store_.own_[record.filter] = {.dirty = true};
    store_.insert(std::move(*filter));
    return {};
  }
  if (!known) return {};  // it was dropped before the catalog was written
  if (record.kind == LogRecord::Kind::kDrop) {
    store_.take_out(*found->second);
    return {};
  }
  return replay_keys(*found->second, record);
}

Result<void> StoreLoader::replay_keys(ServedFilter& filter, const LogRecord& record) {
  if (filter.is_mapped()) {
    return error(ErrorCode::kNoSpace,
                 fmt::format("the filter {} does not fit into --max-memory, and the log has "
                             "changes for it: start once with a higher --max-memory ({} bytes for "
                             "this filter)",
                             filter.name(), filter.size_bytes()));
  }
  const std::uint64_t before = filter.memory_bytes();
  // The keys were acknowledged: no limit may keep them out. But within the limit filters grow as
  // they did before, so that they do not take more memory after each start.
  constexpr std::uint64_t kAny = std::uint64_t{1} << 60;
  const std::uint64_t allowed = store_.allowed(filter);
  if (filter.is_cuckoo()) {
    for (const Fingerprint key : record.keys) {
      if (record.kind == LogRecord::Kind::kKnown && filter.contains(key)) continue;
      if (record.kind == LogRecord::Kind::kErase) {
        filter.erase(key);
      } else if (filter.add_copy(key, allowed) != CuckooChain::Added::kAdded &&
                 filter.add_copy(key, kAny, true) != CuckooChain::Added::kAdded) {
        return error(ErrorCode::kNoSpace, fmt::format("the filter {} has no room for keys of the "
                                                      "log: more memory is needed",
                                                      filter.name()));
      }
    }
  } else {
    if (fresh_size_ < record.keys.size()) {
      fresh_size_ = record.keys.size();
      fresh_ = std::make_unique<bool[]>(fresh_size_);
    }
    const std::span<bool> fresh(fresh_.get(), record.keys.size());
    record.kind == LogRecord::Kind::kKnown ? filter.replay_known(record.keys, fresh, allowed)
                                           : filter.replay(record.keys, fresh, allowed);
  }
  store_.own_[filter.number()].dirty = true;
  store_.account(before, filter);
  return {};
}

void StoreLoader::load_files() {
  std::error_code failure;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(store_.options_.directory, failure)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > kFileSuffix.size() && name.ends_with(kFileSuffix))
      paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) {
    std::string name = path.filename().string();
    name.resize(name.size() - kFileSuffix.size());
    load_file(path, name);
  }
}

void StoreLoader::load_file(const std::filesystem::path& path, const std::string& name) {
  auto& warnings = store_.opening_.warnings;
  if (store_.find(name) != nullptr) {
    warnings.push_back(
        fmt::format("{} is not served: the server has a filter of its own with "
                    "that name",
                    path.string()));
    return;
  }
  auto file = MappedFilter::open(path.string());
  if (!file) {
    warnings.push_back(fmt::format("{} is not served: {}", path.string(), file.error().message));
    return;
  }
  const FilterStats stats = file->stats();
  FilterPlan plan{.name = name,
                  .kind = ServedKind::kGrowing,
                  .capacity = stats.capacity,
                  .rate = stats.target_rate,
                  .hash_key = file->hash().key()};
  if (file->kind() == FilterKind::kCuckoo) plan.kind = ServedKind::kCuckoo;
  if (file->kind() != FilterKind::kCuckoo && file->kind() != FilterKind::kGrowing)
    plan.kind = ServedKind::kFixed;
  ServedFilter::Mapped files;
  files.push_back(std::move(*file));
  store_.insert(std::make_unique<ServedFilter>(next_mapped_++, plan, std::move(files)));
  ++store_.opening_.read_in_place;
}

// Of a server that was killed while it wrote a checkpoint.
void StoreLoader::remove_leftovers(const Catalog& catalog) const {
  std::vector<std::uint64_t> files;
  for (const auto& entry : catalog.entries)
    files.insert(files.end(), entry.files.begin(), entry.files.end());
  store_.remove_old(Checkpoint(store_.options_.directory, catalog.first_segment, catalog.sequence),
                    files);
}

}  // namespace trawl::resp
