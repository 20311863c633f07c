// The keys of URLs that are set aside fit the rules for canonical keys.
#pragma once

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/store/store.h"

namespace trawl {

// Gives each the key that `profile` gives its URL, unless the store says that they have those. Of
// two that are the same URL now one stays. A crash leaves them for the next call. To be called
// before anything else uses the store. Changes what `counters` counts of them. Returns whether keys
// were ever changed, so that URLs that were admitted may be set aside by keys that the filter does
// not know.
Result<bool> fit_set_aside_keys(Store& store, const Profile& profile, const KeyedHash& hash,
                                Counters& counters);

}  // namespace trawl
