#include "crawler/resp/served_filter.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "trawl/sizing.h"

namespace trawl::resp {

namespace {

Result<ServedFilter::Body> create_body(const FilterPlan& plan, const KeyedHash& hash,
                                       std::uint64_t max_memory) {
  using Body = ServedFilter::Body;
  if (plan.kind == ServedKind::kCuckoo) {
    auto chain = CuckooChain::create({.capacity = plan.capacity,
                                      .false_positive_rate = plan.rate,
                                      .grows = plan.grows,
                                      .hash = hash},
                                     max_memory);
    if (!chain) return tl::unexpected(chain.error());
    return Body(std::make_unique<CuckooChain>(std::move(*chain)));
  }
  const FilterKind kind =
      plan.kind == ServedKind::kFixed ? FilterKind::kBlocked : FilterKind::kGrowing;
  ClassicBloomFilter::Options options;
  options.capacity = plan.capacity;
  options.false_positive_rate = plan.rate;
  const auto size = filter_size(kind, options);
  if (!size) return tl::unexpected(size.error());
  if (size->memory_bytes() > max_memory) {
    return error(ErrorCode::kNoSpace,
                 fmt::format("the filter would take {} bytes", size->memory_bytes()));
  }
  if (kind == FilterKind::kBlocked) {
    auto filter = BlockedBloomFilter::create(
        {.capacity = plan.capacity, .false_positive_rate = plan.rate, .hash = hash});
    if (!filter) return tl::unexpected(filter.error());
    return Body(std::make_shared<BlockedBloomFilter>(std::move(*filter)));
  }
  auto filter = GrowingBloomFilter::create(
      {.capacity = plan.capacity, .false_positive_rate = plan.rate, .hash = hash});
  if (!filter) return tl::unexpected(filter.error());
  return Body(std::make_shared<GrowingBloomFilter>(std::move(*filter)));
}

}  // namespace

Result<std::unique_ptr<ServedFilter>> ServedFilter::create(std::uint64_t number,
                                                           const FilterPlan& plan,
                                                           std::uint64_t max_memory) {
  auto body = create_body(plan, KeyedHash::from_key(plan.hash_key), max_memory);
  if (!body) return tl::unexpected(body.error());
  return std::make_unique<ServedFilter>(number, plan, std::move(*body));
}

ServedFilter::ServedFilter(std::uint64_t number, FilterPlan plan, Body body)
    : number_(number),
      plan_(std::move(plan)),
      hash_(KeyedHash::from_key(plan_.hash_key)),
      body_(std::move(body)) {
  if (const auto* growing = std::get_if<Growing>(&body_)) {
    inserted_ = (*growing)->stats().inserted;
    memory_bytes_ = (*growing)->memory_bytes();
  } else if (const auto* fixed = std::get_if<Fixed>(&body_)) {
    const FilterStats stats = (*fixed)->stats();
    inserted_ = stats.inserted;
    memory_bytes_ = stats.memory_bytes;
  } else if (const auto* chain = std::get_if<Cuckoo>(&body_)) {
    inserted_ = (*chain)->keys();
    memory_bytes_ = (*chain)->memory_bytes();
  } else {
    for (const auto& file : std::get<Mapped>(body_))
      inserted_ += file.stats().inserted;
  }
}

CuckooChain* ServedFilter::cuckoo() noexcept {
  auto* const chain = std::get_if<Cuckoo>(&body_);
  return chain == nullptr ? nullptr : chain->get();
}

AddProgress ServedFilter::add(std::span<const Fingerprint> keys, std::span<bool> fresh,
                              std::uint64_t max_memory) {
  assert(keys.size() == fresh.size());
  if (auto* growing = std::get_if<Growing>(&body_))
    return add_growing(**growing, keys, fresh, max_memory);
  if (auto* fixed = std::get_if<Fixed>(&body_)) return add_fixed(**fixed, keys, fresh);
  assert(false);
  return {.done = 0, .stop = Stop::kFull};
}

std::size_t ServedFilter::insert_all(std::span<const Fingerprint> keys, std::span<bool> fresh,
                                     std::uint64_t max_memory) {
  if (auto* fixed = std::get_if<Fixed>(&body_)) return (*fixed)->insert_batch(keys, fresh);
  GrowingBloomFilter& filter = *std::get<Growing>(body_);
  std::size_t inserted = 0;
  for (std::size_t done = 0; done < keys.size();) {
    auto room = filter.make_room(max_memory);
    if (!room) room = filter.make_room(0);
    const std::size_t left = keys.size() - done;
    const std::size_t some = room ? std::min<std::uint64_t>(left, *room) : left;
    inserted += filter.insert_batch(keys.subspan(done, some), fresh.subspan(done, some));
    done += some;
  }
  memory_bytes_ = filter.memory_bytes();
  return inserted;
}

void ServedFilter::replay(std::span<const Fingerprint> keys, std::span<bool> fresh,
                          std::uint64_t max_memory) {
  insert_all(keys, fresh, max_memory);
  inserted_ += keys.size();
}

void ServedFilter::replay_known(std::span<const Fingerprint> keys, std::span<bool> fresh,
                                std::uint64_t max_memory) {
  contains(keys, fresh);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!fresh[i]) inserted_ += insert_all(keys.subspan(i, 1), fresh.subspan(i, 1), max_memory);
}

AddProgress ServedFilter::add_growing(GrowingBloomFilter& filter, std::span<const Fingerprint> keys,
                                      std::span<bool> fresh, std::uint64_t max_memory) {
  std::size_t done = 0;
  while (done < keys.size()) {
    // An attempt to grow takes milliseconds: one that failed is made again only with more memory.
    const bool refused = max_memory <= refused_memory_;
    const Result<std::uint64_t> room = refused ? 0 : filter.make_room(max_memory);
    if (!room || *room == 0) {
      refused_memory_ = max_memory;
      // A key that is in it needs no room.
      if (!filter.contains(keys[done])) return {.done = done, .stop = Stop::kNoMemory};
      fresh[done++] = false;
      continue;
    }
    memory_bytes_ = filter.memory_bytes();
    const std::size_t some = std::min<std::uint64_t>(keys.size() - done, *room);
    inserted_ += filter.insert_batch(keys.subspan(done, some), fresh.subspan(done, some));
    done += some;
  }
  return {.done = done};
}

AddProgress ServedFilter::add_fixed(BlockedBloomFilter& filter, std::span<const Fingerprint> keys,
                                    std::span<bool> fresh) {
  if (inserted_ + keys.size() <= plan_.capacity) {
    inserted_ += filter.insert_batch(keys, fresh);
    return {.done = keys.size()};
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (inserted_ >= plan_.capacity && !filter.contains(keys[i]))
      return {.done = i, .stop = Stop::kFull};
    fresh[i] = filter.insert(keys[i]);
    inserted_ += fresh[i] ? 1 : 0;
  }
  return {.done = keys.size()};
}

void ServedFilter::contains(std::span<const Fingerprint> keys, std::span<bool> found) const {
  assert(keys.size() == found.size());
  if (const auto* growing = std::get_if<Growing>(&body_)) {
    (*growing)->contains_batch(keys, found);
  } else if (const auto* fixed = std::get_if<Fixed>(&body_)) {
    (*fixed)->contains_batch(keys, found);
  } else if (const auto* files = std::get_if<Mapped>(&body_);
             files != nullptr && files->size() == 1 && crowded_.empty()) {
    files->front().contains_batch(keys, found);
  } else {
    for (std::size_t i = 0; i < keys.size(); ++i)
      found[i] = contains(keys[i]);
  }
}

bool ServedFilter::contains(Fingerprint key) const {
  if (const auto* growing = std::get_if<Growing>(&body_)) return (*growing)->contains(key);
  if (const auto* fixed = std::get_if<Fixed>(&body_)) return (*fixed)->contains(key);
  if (const auto* chain = std::get_if<Cuckoo>(&body_)) return (*chain)->contains(key);
  return std::ranges::any_of(std::get<Mapped>(body_),
                             [&](const MappedFilter& file) { return file.contains(key); }) ||
         (!crowded_.empty() && crowded_.contains(key));
}

CuckooChain::Added ServedFilter::add_copy(Fingerprint key, std::uint64_t max_memory, bool must) {
  CuckooChain& chain = *std::get<Cuckoo>(body_);
  const auto added = chain.add(key, max_memory, must);
  if (added == CuckooChain::Added::kAdded) ++inserted_;
  memory_bytes_ = chain.memory_bytes();
  return added;
}

bool ServedFilter::erase(Fingerprint key) {
  CuckooChain& chain = *std::get<Cuckoo>(body_);
  if (!chain.erase(key)) return false;
  memory_bytes_ = chain.memory_bytes();
  --inserted_;
  ++erased_;
  return true;
}

std::uint64_t ServedFilter::size_bytes() const {
  const auto* files = std::get_if<Mapped>(&body_);
  if (files == nullptr) return memory_bytes_;
  std::uint64_t bytes = 0;
  for (const auto& file : *files)
    bytes += file.stats().memory_bytes;
  return bytes;
}

std::uint64_t ServedFilter::capacity() const {
  if (const auto* growing = std::get_if<Growing>(&body_)) return (*growing)->stats().capacity;
  if (const auto* files = std::get_if<Mapped>(&body_)) {
    std::uint64_t keys = 0;
    for (const auto& file : *files)
      keys += file.stats().capacity;
    return keys;
  }
  return plan_.capacity;
}

std::uint64_t ServedFilter::filters() const {
  if (const auto* growing = std::get_if<Growing>(&body_)) return (*growing)->stats().layers;
  if (const auto* chain = std::get_if<Cuckoo>(&body_)) return (*chain)->filters();
  if (const auto* files = std::get_if<Mapped>(&body_)) {
    std::uint64_t layers = 0;
    for (const auto& file : *files)
      layers += file.stats().layers;
    return layers;
  }
  return 1;
}

}  // namespace trawl::resp
