#include "crawler/resp/filter_store.h"

#include <algorithm>
#include <cassert>
#include <system_error>

#include <fmt/format.h>

#include "crawler/resp/log_frame.h"
#include "crawler/resp/log_replay.h"

namespace trawl::resp {

ServedFilter* FilterStore::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool FilterStore::is_file(const ServedFilter& filter) const noexcept {
  return !own_.contains(filter.number());
}

ServedFilter* FilterStore::insert(std::unique_ptr<ServedFilter> filter) {
  ServedFilter* const inserted = filter.get();
  by_name_[inserted->name()] = inserted;
  memory_bytes_ += inserted->memory_bytes();
  by_number_[inserted->number()] = std::move(filter);
  ++generation_;
  return inserted;
}

void FilterStore::take_out(const ServedFilter& filter) {
  memory_bytes_ -= filter.memory_bytes();
  own_.erase(filter.number());
  by_name_.erase(filter.name());
  by_number_.erase(filter.number());
  ++generation_;
}

std::uint64_t FilterStore::allowed(const ServedFilter& filter) const {
  const std::uint64_t others = memory_bytes_ - filter.memory_bytes();
  // Never 0, which would mean any number of bytes.
  return std::max<std::uint64_t>(1, options_.max_memory - std::min(options_.max_memory, others));
}

void FilterStore::account(std::uint64_t before, const ServedFilter& filter) {
  memory_bytes_ += filter.memory_bytes() - before;
}

Result<ServedFilter*> FilterStore::create(FilterPlan plan) {
  if (find(plan.name) != nullptr) return error(ErrorCode::kAlreadyExists, "item exists");
  if (by_number_.size() >= options_.max_filters) {
    return error(ErrorCode::kUnavailable,
                 fmt::format("there are {} filters, as many as allowed", by_number_.size()));
  }
  plan.hash_key = KeyedHash::random().key();
  const std::uint64_t left = options_.max_memory - std::min(options_.max_memory, memory_bytes_);
  auto filter = ServedFilter::create(next_filter_, plan, left);
  if (!filter) return tl::unexpected(filter.error());
  log_->create(next_filter_, plan);
  own_[next_filter_] = {.dirty = true};
  ++next_filter_;
  return insert(std::move(*filter));
}

void FilterStore::drop(ServedFilter& filter) {
  assert(!is_file(filter));
  log_->drop(filter.number());
  take_out(filter);
}

AddProgress FilterStore::add(ServedFilter& filter, std::span<const Fingerprint> keys,
                             std::span<bool> fresh) {
  const std::uint64_t before = filter.memory_bytes();
  const AddProgress progress = filter.add(keys, fresh, allowed(filter));
  account(before, filter);
  fresh_.clear();
  known_.clear();
  for (std::size_t i = 0; i < progress.done; ++i)
    (fresh[i] ? fresh_ : known_).push_back(keys[i]);
  if (!fresh_.empty()) {
    log_->keys(LogRecord::Kind::kAdd, filter.number(), fresh_);
    own_[filter.number()].dirty = true;
  }
  if (!known_.empty()) log_->keys(LogRecord::Kind::kKnown, filter.number(), known_);
  return progress;
}

void FilterStore::note_known(const ServedFilter& filter, Fingerprint key) {
  log_->keys(LogRecord::Kind::kKnown, filter.number(), {&key, 1});
}

CuckooChain::Added FilterStore::add_copy(ServedFilter& filter, Fingerprint key) {
  const std::uint64_t before = filter.memory_bytes();
  const auto added = filter.add_copy(key, allowed(filter));
  account(before, filter);
  if (added == CuckooChain::Added::kAdded) {
    log_->keys(LogRecord::Kind::kAdd, filter.number(), {&key, 1});
    own_[filter.number()].dirty = true;
  }
  return added;
}

bool FilterStore::erase(ServedFilter& filter, Fingerprint key) {
  const std::uint64_t before = filter.memory_bytes();
  if (!filter.erase(key)) return false;
  account(before, filter);
  log_->keys(LogRecord::Kind::kErase, filter.number(), {&key, 1});
  own_[filter.number()].dirty = true;
  return true;
}

bool FilterStore::has_changes() const {
  return old_log_bytes_ + log_->bytes_of_segment() > 0 ||
         std::ranges::any_of(own_, [](const auto& each) { return each.second.dirty; });
}

bool FilterStore::wants_checkpoint() const {
  constexpr std::uint64_t kLeast = 64 << 20;
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;  // a start must not take minutes
  const std::uint64_t logged = old_log_bytes_ + log_->bytes_of_segment();
  return !in_checkpoint_ && logged >= std::clamp(memory_bytes_, kLeast, kMost);
}

Result<Checkpoint> FilterStore::begin_checkpoint() {
  assert(!in_checkpoint_);
  const std::uint64_t bytes = log_->bytes_of_segment();
  // Records from here on are not in the files; earlier ones that wait are in the new segment too.
  const std::uint64_t sequence = log_->sequence();
  Checkpoint checkpoint(options_.directory, log_->rotate(), sequence);
  old_log_bytes_ += bytes;
  for (auto& [number, filter] : by_number_) {
    const auto own = own_.find(number);
    if (own == own_.end() || !own->second.dirty) continue;
    Checkpoint::Item item{.filter = number,
                          .files = {},
                          .body = {},
                          .inserted = filter->inserted(),
                          .erased = filter->erased()};
    if (auto* chain = filter->cuckoo()) {
      auto copied = chain->copy();
      if (!copied) return tl::unexpected(copied.error());
      item.crowded = chain->crowded();
      item.body = std::make_unique<CuckooChain>(std::move(*copied));
    } else if (const auto* growing = std::get_if<ServedFilter::Growing>(&filter->body())) {
      item.body = *growing;
    } else {
      item.body = std::get<ServedFilter::Fixed>(filter->body());
    }
    const std::size_t files = filter->is_cuckoo() ? filter->filters() : 1;
    for (std::size_t i = 0; i < files; ++i)
      item.files.push_back(next_file_++);
    checkpoint.add(std::move(item));
  }
  for (const auto& item : checkpoint.items())
    own_[item.filter].dirty = false;
  in_checkpoint_ = true;
  return checkpoint;
}

// As it is published: with the files of the checkpoint, of filters that are still there.
Catalog FilterStore::catalog_after(const Checkpoint& checkpoint) const {
  Catalog catalog{.first_segment = checkpoint.segment(),
                  .sequence = checkpoint.sequence(),
                  .next_filter = next_filter_,
                  .next_file = next_file_,
                  .entries = {}};
  std::map<std::uint64_t, const Checkpoint::Item*> saved;
  for (const auto& item : checkpoint.items())
    saved[item.filter] = &item;
  for (const auto& [number, filter] : by_number_) {
    const auto own = own_.find(number);
    if (own == own_.end()) continue;
    const auto item = saved.find(number);
    // One that was created since is in the log.
    if (item == saved.end() && own->second.saved.files.empty()) continue;
    Catalog::Entry entry = own->second.saved;
    if (item != saved.end()) {
      entry = {.filter = number,
               .plan = filter->plan(),
               .files = item->second->files,
               .inserted = item->second->inserted,
               .erased = item->second->erased,
               .crowded = item->second->crowded};
    }
    catalog.entries.push_back(std::move(entry));
  }
  return catalog;
}

Result<void> FilterStore::finish_checkpoint(const Checkpoint& checkpoint,
                                            const Result<void>& written) {
  in_checkpoint_ = false;
  const Catalog catalog = catalog_after(checkpoint);
  auto done = written;
  if (done) done = write_catalog(options_.directory, catalog);
  if (!done) {
    for (const auto& item : checkpoint.items())
      if (const auto own = own_.find(item.filter); own != own_.end()) own->second.dirty = true;
    // The catalog can be in place although it is not certain that it is there after a power
    // failure.
    const auto there = read_catalog(options_.directory);
    if (there && (!*there || (*there)->sequence != catalog.sequence)) checkpoint.remove();
    return done;
  }
  std::vector<std::uint64_t> kept;
  for (const auto& entry : catalog.entries) {
    own_[entry.filter].saved = entry;
    kept.insert(kept.end(), entry.files.begin(), entry.files.end());
  }
  remove_old(checkpoint, kept);
  old_log_bytes_ = 0;
  return {};
}

// What remains after a crash is removed by the next start.
void FilterStore::remove_old(const Checkpoint& checkpoint,
                             const std::vector<std::uint64_t>& files) const {
  std::error_code ignored;
  std::vector<std::string> names;
  for (const std::uint64_t file : files)
    names.push_back(catalog_filter_path(options_.directory, file).filename().string());
  std::ranges::sort(names);
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto segment = log_segment_of(name);
    const bool filter = name.starts_with("filter-") && name.find(".ckpt") != std::string::npos;
    if ((segment && *segment < checkpoint.segment()) ||
        (filter && !std::ranges::binary_search(names, name))) {
      old.push_back(entry.path());
    }
  }
  for (const auto& path : old)
    std::filesystem::remove(path, ignored);
}

}  // namespace trawl::resp
