// KnownLinks: remembers links that a thread offered recently. Most links of a site are the same on
// page after page, and need not be offered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trawl/fingerprint.h"

#include "base/mix.h"
#include "base/one_thread.h"
#include "base/zeroed_array.h"

namespace trawl {

// A table of fixed size, in which new entries replace old ones. For one thread.
class KnownLinks {
 public:
  // 512 KiB.
  static constexpr std::size_t kEntries = std::size_t{1} << 15;

  // `hash`: of the URLs; keyed, so that no URL can be crafted to pass for another.
  explicit KnownLinks(const KeyedHash& hash, std::size_t entries = kEntries);

  // True if the URL was offered before, at no greater depth and with the same number of hops out of
  // scope: offering it again would change nothing.
  bool knows(std::string_view href, std::uint32_t depth, std::uint32_t hops_off_scope) {
    return knows(hash_(href), depth, hops_off_scope);
  }
  // `url`: the hash of the URL.
  bool knows(const Fingerprint& url, std::uint32_t depth, std::uint32_t hops_off_scope);
  // Call some calls before knows().
  void prefetch(const Fingerprint& url) { __builtin_prefetch(&entries_[place_of(url)]); }
  // Notes that the URL of the last call of knows() is being offered.
  void note_offered() {
    if (may_be_known_) *place_ = asked_;
  }

 private:
  // 96 bits of the fingerprint; its position in the table gives the others.
  struct Entry {
    std::uint64_t high = 0;
    std::uint32_t low = 0;
    std::uint16_t depth = 0;
    std::uint16_t hops_off_scope = 0;
  };

  std::size_t place_of(const Fingerprint& url) const { return scale_to(url.low, entries_.size()); }

  const KeyedHash hash_;
  ZeroedArray<Entry> entries_;
  Entry asked_;  // of the last knows(), and its place in the table
  Entry* place_;
  bool may_be_known_ = false;
  OneThread thread_;
};

}  // namespace trawl
