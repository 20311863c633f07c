// All states that a search has reached, each in a fixed number of words, with the state before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mix.h"

namespace trawl::test {

template <std::size_t Words>
class StateSet {
 public:
  using Packed = std::array<std::uint64_t, Words>;

  StateSet() : slots_(std::size_t{1} << 16, kEmpty) {}

  // Returns whether the state was added. States are numbered in the order in which they come.
  bool insert(const Packed& state, std::uint32_t parent) {
    if ((states_.size() + 1) * 2 > slots_.size()) grow();
    std::size_t slot = home(state);
    while (slots_[slot] != kEmpty) {
      if (states_[slots_[slot]] == state) return false;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<std::uint32_t>(states_.size());
    states_.push_back(state);
    parents_.push_back(parent);
    return true;
  }
  std::size_t size() const { return states_.size(); }
  const Packed& operator[](std::size_t i) const { return states_[i]; }
  std::uint32_t parent(std::size_t i) const { return parents_[i]; }

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

  std::size_t home(const Packed& state) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : state)
      hash = mix64(hash ^ word) + 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(hash) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<std::uint32_t> slots(slots_.size() * 2, kEmpty);
    slots_.swap(slots);
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      std::size_t slot = home(states_[i]);
      while (slots_[slot] != kEmpty)
        slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = i;
    }
  }

  std::vector<Packed> states_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> slots_;  // open addressing: numbers of states
};

}  // namespace trawl::test
