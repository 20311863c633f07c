#include "crawler/resp/cuckoo_chain.h"

#include <algorithm>
#include <cassert>
#include <numbers>

#include <fmt/format.h>

#include "filter/cuckoo/cuckoo_layout.h"

namespace trawl::resp {

namespace {

// A filter that refuses a key though it has this share of free slots has too many copies of it.
constexpr double kCrowdedBelow = 0.85;

// The shares of all filters sum to 1: 6 / pi^2 of 1, 1/4, 1/9, ...
double share_of(std::size_t filter) {
  const auto n = static_cast<double>(filter + 1);
  return 6 / (std::numbers::pi * std::numbers::pi * n * n);
}

}  // namespace

Result<CuckooChain> CuckooChain::create(const CuckooOptions& options, std::uint64_t max_memory) {
  CuckooChain chain(options);
  if (auto grown = chain.grow(max_memory); !grown) return tl::unexpected(grown.error());
  return chain;
}

Result<CuckooChain> CuckooChain::load(const CuckooOptions& options,
                                      const std::vector<std::string>& files, Crowded crowded) {
  CuckooChain chain(options);
  for (const auto& file : files) {
    auto filter = CuckooFilter::load(file);
    if (!filter) return tl::unexpected(filter.error());
    chain.append(std::move(*filter));
  }
  chain.crowded_ = std::move(crowded);
  return chain;
}

Result<CuckooChain> CuckooChain::copy() const {
  CuckooChain chain(options_);
  for (const auto& filter : filters_) {
    auto copied = filter.copy();
    if (!copied) return tl::unexpected(copied.error());
    chain.append(std::move(*copied));
  }
  chain.crowded_ = crowded_;
  return chain;
}

Result<void> CuckooChain::save(const std::vector<std::string>& files) const {
  assert(files.size() == filters_.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    if (auto saved = filters_[i].save(files[i]); !saved) return tl::unexpected(saved.error());
  return {};
}

void CuckooChain::append(CuckooFilter filter) {
  const FilterStats stats = filter.stats();
  const auto layout = choose_cuckoo_layout(stats.capacity, stats.target_rate);
  memory_bytes_ += stats.memory_bytes;
  slots_of_.push_back(layout ? layout->slots() : stats.capacity);
  slots_ += slots_of_.back();
  keys_in_.push_back(stats.inserted);
  filters_.push_back(std::move(filter));
}

Result<void> CuckooChain::grow(std::uint64_t max_memory) {
  const std::size_t index = filters_.size();
  if (index == kMostFilters)
    return error(ErrorCode::kInvalidArgument, fmt::format("it has {} filters already", index));
  std::uint64_t capacity = options_.capacity;
  for (std::size_t i = 0; i < index; ++i)
    capacity = capacity > UINT64_MAX / 2 ? capacity : 2 * capacity;
  const double whole = options_.grows ? share_of(index) : 1;
  // Beyond the options' last filter, for a replay, any rate is better than a key lost.
  const double rate = std::max(options_.false_positive_rate * whole, index == 0 ? 0.0 : 2e-9);
  const FilterOptions options{
      .capacity = capacity, .false_positive_rate = rate, .hash = options_.hash};
  const auto layout = choose_cuckoo_layout(capacity, rate);
  if (!layout) return tl::unexpected(layout.error());
  const std::uint64_t bytes = memory_bytes() + layout->words() * sizeof(std::uint64_t);
  if (bytes > max_memory)
    return error(ErrorCode::kNoSpace, fmt::format("it would take {} bytes", bytes));
  auto filter = CuckooFilter::create(options);
  if (!filter) return tl::unexpected(filter.error());
  append(std::move(*filter));
  return {};
}

bool CuckooChain::add_to_existing(Fingerprint key) {
  // The newest has the most room; others have some after erases.
  for (std::size_t i = filters_.size(); i-- > 0;) {
    const double fill = static_cast<double>(keys_in_[i]) / static_cast<double>(slots_of_[i]);
    if (i + 1 < filters_.size() && fill > 0.9) continue;
    if (filters_[i].insert_copy(key)) {
      ++keys_in_[i];
      return true;
    }
  }
  return false;
}

// If the newest filter is not full, all slots of the key are taken by copies, of it or of others.
std::optional<CuckooChain::Added> CuckooChain::add_beside(Fingerprint key,
                                                          std::uint64_t max_memory) {
  const double fill = static_cast<double>(keys_in_.back()) / static_cast<double>(slots_of_.back());
  const bool copies = filters_.back().count(key) >= 8 || fill < kCrowdedBelow;
  if (!copies) return std::nullopt;
  const auto found = crowded_.find(key);
  if (found != crowded_.end()) {
    ++found->second;
    return Added::kAdded;
  }
  if (crowded_.size() == kMostCrowded) return Added::kFull;
  if (memory_bytes() + kCrowdedBytes > max_memory) return Added::kNoMemory;
  crowded_.emplace(key, 1);
  return Added::kAdded;
}

CuckooChain::Added CuckooChain::add(Fingerprint key, std::uint64_t max_memory, bool must) {
  if (const auto found = crowded_.find(key); found != crowded_.end()) {
    ++found->second;
    return Added::kAdded;
  }
  if (add_to_existing(key)) return Added::kAdded;
  if (const auto beside = add_beside(key, max_memory)) return *beside;
  if (!options_.grows && !must) return Added::kFull;
  if (const auto grown = grow(max_memory); !grown)
    return grown.error().code == ErrorCode::kNoSpace ? Added::kNoMemory : Added::kFull;
  return add_to_existing(key) ? Added::kAdded : Added::kFull;
}

bool CuckooChain::contains(Fingerprint key) const {
  // A key whose slots are taken by copies of others has none in the filters.
  return std::any_of(filters_.rbegin(), filters_.rend(),
                     [&](const CuckooFilter& filter) { return filter.contains(key); }) ||
         (!crowded_.empty() && crowded_.contains(key));
}

std::uint64_t CuckooChain::count(Fingerprint key) const {
  std::uint64_t copies = 0;
  for (const auto& filter : filters_)
    copies += filter.count(key);
  const auto found = crowded_.find(key);
  return copies + (found == crowded_.end() ? 0 : found->second);
}

bool CuckooChain::erase(Fingerprint key) {
  if (const auto found = crowded_.find(key); found != crowded_.end()) {
    if (--found->second == 0) crowded_.erase(found);
    return true;
  }
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if (!filters_[i].erase(key)) continue;
    --keys_in_[i];
    return true;
  }
  return false;
}

std::uint64_t CuckooChain::keys() const {
  std::uint64_t keys = 0;
  for (const std::uint64_t in : keys_in_)
    keys += in;
  for (const auto& [key, copies] : crowded_)
    keys += copies;
  return keys;
}

}  // namespace trawl::resp
