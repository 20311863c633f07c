// KnownLinks: what a thread has offered to the frontier lately. Most links of a site are the same
// on page after page; those need not be offered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/one_thread.h"

namespace trawl {

// A table of fixed size in which the newest take the places of older ones. Of one thread.
class KnownLinks {
 public:
  // 512 KiB.
  static constexpr std::size_t kEntries = std::size_t{1} << 15;

  explicit KnownLinks(std::size_t entries = kEntries);

  // True if the URL was offered before, at no greater depth and with as many hops out of scope, so
  // that offering it once more would change nothing.
  bool knows(std::string_view href, std::uint32_t depth, std::uint32_t hops_off_scope);
  // What knows() was asked about last is being offered.
  void note_offered() {
    if (may_be_known_) *place_ = asked_;
  }

 private:
  // What the table's place does not tell of the fingerprint: 96 of its bits.
  struct Entry {
    std::uint64_t high = 0;
    std::uint32_t low = 0;
    std::uint16_t depth = 0;
    std::uint16_t hops_off_scope = 0;
  };

  const KeyedHash hash_;  // nobody can make a URL that passes for another
  std::vector<Entry> entries_;
  Entry asked_;  // by the last knows(), and where it belongs
  Entry* place_;
  bool may_be_known_ = false;
  OneThread thread_;
};

}  // namespace trawl
