// ArchivedLookups: for which hosts the WARC files have the records of name servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "crawler/http/dns_lookup.h"

namespace trawl {

// Thread-safe.
class ArchivedLookups {
 public:
  // After an hour the records are written again even if they are the same.
  static constexpr std::chrono::hours kAge{1};
  // Some 10 MB. Beyond, all are forgotten: some hosts get another record.
  static constexpr std::size_t kMostHosts = 100'000;

  // True if the lookup is to be written: it is the host's first, or it gave other addresses than
  // the last one that was written, or that was made an hour before this one.
  bool add(const DnsLookup& lookup);

 private:
  struct Written {
    std::chrono::system_clock::time_point asked_at;
    std::uint64_t addresses;  // a hash
  };
  Mutex mutex_;
  std::unordered_map<std::string, Written> hosts_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
