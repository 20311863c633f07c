// StoreFamily: the column families of the store; docs/formats.md has their records.
#pragma once

#include <cstdint>

namespace trawl {

enum StoreFamily : std::uint8_t {
  kMeta,        // counters, format, rules of the keys in kSetAside
  kPending,     // the host queues
  kDeferred,    // deferred URLs, by time
  kHosts,       // HostRecord of hosts that have one, by HostId
  kAdmissions,  // the log of admitted fingerprints
  kLedger,      // LedgerRecord by fingerprint, if the crawl keeps one
  kDepths,      // by fingerprint: the smallest depth offered while the URL waits
  kSetAside,    // SetAsideRecord of URLs held and failed, by fingerprint
  kRuns,        // always empty: says that the log may hold runs (store_format.h)
  kRunFiles,    // the same of references to runs in files
  kFamilies
};

}  // namespace trawl
