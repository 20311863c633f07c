#include "crawler/run/archived_lookups.h"

#include <xxhash.h>

namespace trawl {

bool ArchivedLookups::add(const DnsLookup& lookup) {
  const MutexLock lock(mutex_);
  const auto known = hosts_.find(lookup.host);
  // Threads have lookups of their own: an older one must not count as a change.
  if (known != hosts_.end() && lookup.asked_at <= known->second.asked_at) return false;
  std::string addresses;
  for (const std::string& address : lookup.addresses)
    addresses.append(address).append(" ");
  const Written written{lookup.asked_at, XXH3_64bits(addresses.data(), addresses.size())};
  if (known == hosts_.end()) {
    if (hosts_.size() >= kMostHosts) hosts_.clear();
    hosts_.emplace(lookup.host, written);
    return true;
  }
  const bool same = known->second.addresses == written.addresses &&
                    lookup.asked_at < known->second.asked_at + kAge;
  if (same) return false;
  known->second = written;
  return true;
}

}  // namespace trawl
