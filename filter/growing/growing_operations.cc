// Inserts and lookups of a growing filter.
#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/growing/layer_switch.h"

namespace trawl {

namespace {

// Keys of one operation: enough to overlap cache misses, few enough that it is short and its arrays
// fit on the stack.
constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::size_t kKeysPerPass = 512;  // if there are several layers

// The keys on their way through the layers, compacted when some drop out. At most kMost.
template <class Table, std::size_t kMost>
class KeysUnderWay {
 public:
  KeysUnderWay(const Table& table, std::span<const Fingerprint> keys)
      : table_(table), keys_(keys), done_(keys.size()) {
    assert(keys.size() <= kMost);
    std::iota(place_.begin(), place_.begin() + static_cast<std::ptrdiff_t>(keys.size()),
              std::uint16_t{0});
  }

  void drop_found_in(std::size_t layer) noexcept {
    if (keys_.empty()) return;
    if (table_.layers[layer]->find(keys_, answers_.data()) > 0) keep_where(false);
  }

  void insert_in(std::size_t layer) noexcept {
    auto& into = *table_.layers[layer];
    take_room(layer);
    if (keys_.empty()) return;
    const std::size_t places = keys_.size();
    const std::size_t fresh = into.insert(keys_, answers_.data());
    assert(fresh <= places);
    if (fresh == places) return;
    keep_where(true);
    into.room.put(places - fresh);
  }

  // The number of leading keys with an answer.
  std::size_t done() const noexcept { return done_; }
  std::size_t left() const noexcept { return keys_.size(); }
  // Sets the answer of the remaining keys to `left_over`, and of the others to its opposite.
  void answer(bool left_over, bool* answers) const noexcept {
    std::fill_n(answers, done_, !left_over);
    for (std::size_t i = 0; i < keys_.size(); ++i)
      answers[place_[i]] = left_over;
  }

 private:
  // Keeps as many keys as the layer has room for. A key that is in the layer needs no room: if
  // there is little, such keys are removed first, so that a full filter does not grow needlessly.
  void take_room(std::size_t layer) noexcept {
    auto& room = table_.layers[layer]->room;
    if (!room.has_plenty(keys_.size())) drop_found_in(layer);
    if (keys_.empty()) return;
    const std::size_t places = room.take(keys_.size());
    assert(places <= keys_.size());
    if (places < keys_.size()) {
      done_ = place_[places];
      keys_ = keys_.first(places);
    }
  }

  void keep_where(bool wanted) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      kept_keys_[kept] = keys_[i];  // kept <= i
      place_[kept] = place_[i];
      kept += answers_[i] == wanted ? 1 : 0;
    }
    assert(kept <= keys_.size());
    keys_ = {kept_keys_.data(), kept};
  }

  const Table& table_;
  std::span<const Fingerprint> keys_;  // the caller's span; kept_keys_ after the first key dropped
                                       // out
  std::size_t done_;
  std::array<Fingerprint, kMost> kept_keys_;
  std::array<std::uint16_t, kMost> place_;  // the index of each key in the caller's span
  std::array<bool, kMost> answers_;
};

template <std::size_t kMost, class Table>
std::pair<std::size_t, std::size_t> insert_pass(const Table& table,
                                                std::span<const Fingerprint> keys,
                                                bool* admitted) noexcept {
  KeysUnderWay<Table, kMost> pass(table, keys.first(std::min(keys.size(), kMost)));
  insert_through_layers(pass, table.layers.size());
  pass.answer(true, admitted);
  return {pass.done(), pass.left()};
}

template <std::size_t kMost, class Table>
std::size_t find_pass(const Table& table, std::span<const Fingerprint> keys, bool* found) noexcept {
  KeysUnderWay<Table, kMost> pass(table, keys);
  for (std::size_t layer = table.layers.size(); layer > 0; --layer)
    pass.drop_found_in(layer - 1);
  pass.answer(false, found);
  return keys.size() - pass.left();
}

}  // namespace

GrowingBloomFilter::State::Progress GrowingBloomFilter::State::insert_some(
    std::span<const Fingerprint> keys, bool* admitted) noexcept {
  const OperationGate::Pass operation(inserting);
  const Table& now = current();
  Layer& newest = now.newest();
  const std::size_t at_once = std::min(keys.size(), kKeysAtOnce);
  if (now.layers.size() == 1 && keys.size() > 1 && newest.room.has_plenty(at_once)) {
    if (const std::size_t places = newest.room.take(at_once); places > 0) {
      const std::size_t fresh = newest.insert(keys.first(places), admitted);
      if (fresh < places) newest.room.put(places - fresh);
      return {.done = places, .fresh = fresh, .newest = &newest};
    }
  }
  const auto [done, fresh] = keys.size() == 1 ? insert_pass<1>(now, keys, admitted)
                                              : insert_pass<kKeysPerPass>(now, keys, admitted);
  return {.done = done, .fresh = fresh, .newest = &newest};
}

bool GrowingBloomFilter::State::has(Fingerprint key) const noexcept {
  const Table& now = current();
  for (std::size_t layer = now.layers.size(); layer > 0; --layer) {
    if (now.layers[layer - 1]->has(key)) return true;
  }
  return false;
}

std::size_t GrowingBloomFilter::State::find(std::span<const Fingerprint> keys,
                                            bool* found) const noexcept {
  const Table& now = current();
  if (now.layers.size() == 1) return now.layers.front()->find(keys, found);
  std::size_t sum = 0;
  for (std::size_t first = 0; first < keys.size(); first += kKeysPerPass) {
    const auto part = keys.subspan(first, std::min(kKeysPerPass, keys.size() - first));
    sum += find_pass<kKeysPerPass>(now, part, found + first);
  }
  return sum;
}

}  // namespace trawl
