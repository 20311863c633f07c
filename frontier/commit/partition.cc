#include "frontier/commit/partition.h"

#include <algorithm>
#include <array>

#include "base/mix.h"

namespace trawl {

Fingerprint Partition::key_of(Fingerprint url, Keys keys) noexcept {
  if (keys == Keys::kWhole) return url;
  return {.high = mix64(url.low), .low = url.low};
}

template <class Call>
std::size_t Partition::in_parts(std::span<const Fingerprint> urls, std::span<bool> answers,
                                Call call) {
  std::size_t count = 0;
  std::array<Fingerprint, 256> keys;
  for (std::size_t done = 0; done < urls.size(); done += keys.size()) {
    const std::size_t n = std::min(keys.size(), urls.size() - done);
    std::ranges::transform(urls.subspan(done, n), keys.begin(),
                           [](Fingerprint url) { return key_of(url, Keys::kLower); });
    count += call(std::span<const Fingerprint>(keys.data(), n), answers.subspan(done, n));
  }
  return count;
}

std::size_t Partition::insert_batch(std::span<const Fingerprint> urls, std::span<bool> fresh) {
  assert(urls.size() == fresh.size());
  if (keys_ == Keys::kWhole) return filter_.insert_batch(urls, fresh);
  return in_parts(urls, fresh,
                  [&](auto keys, auto part) { return filter_.insert_batch(keys, part); });
}

std::size_t Partition::contains_batch(std::span<const Fingerprint> urls,
                                      std::span<bool> found) const {
  assert(urls.size() == found.size());
  if (keys_ == Keys::kWhole) return filter_.contains_batch(urls, found);
  return in_parts(urls, found,
                  [&](auto keys, auto part) { return filter_.contains_batch(keys, part); });
}

bool Partition::note_message(const MessageId& id) {
  const MutexLock lock(mutex_);
  if (std::ranges::find(messages_, id) != messages_.end()) return false;
  if (messages_.size() == kMessages) messages_.pop_front();
  messages_.push_back(id);
  return true;
}

void Partition::take_totals(const Counters& before, const Counters& totals, bool saved) {
  const MutexLock lock(mutex_);
  assert(counters_.seen >= before.seen && counters_.invalid >= before.invalid);
  // Offers counted since `before` stay for the next batch.
  const std::uint64_t seen = counters_.seen - before.seen;
  const std::uint64_t invalid = counters_.invalid - before.invalid;
  counters_ = totals;
  counters_.seen += seen;
  counters_.invalid += invalid;
  unsaved_ = !saved || seen + invalid > 0;
}

}  // namespace trawl
