// Updates the keys of URLs set aside after a change of the rules for canonical keys.
#pragma once

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/store/store.h"

namespace trawl {

// Moves each URL set aside to its key under `profile`, unless the store says that this was done. Of
// two URLs with the same key one is kept. After a crash the next call continues. Must be called
// before anything else uses the store. Updates the counts in `counters`. Returns whether keys were
// ever changed: admitted URLs may then be set aside under keys that the filter does not have.
Result<bool> fit_set_aside_keys(Store& store, const Profile& profile, const KeyedHash& hash,
                                Counters& counters);

}  // namespace trawl
