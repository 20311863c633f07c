// RunningChecksum: XXH3 of bytes that come in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include <xxhash.h>

namespace trawl {

class RunningChecksum {
 public:
  RunningChecksum() {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

}  // namespace trawl
