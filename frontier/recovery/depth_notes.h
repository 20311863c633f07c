// Reads the depths of waiting URLs when a frontier is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/commit/waiting_depths.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// Adds the waiting URLs of the store to `depths`, which must be empty, as far as there is room.
// Deletes notes about URLs that certainly no longer wait. `deepest` is the greatest depth ever
// admitted. Errors: those of the store.
Result<void> read_waiting_depths(Store& store, std::uint64_t deepest, const UrlIdentity& identity,
                                 WaitingDepths& depths);

}  // namespace trawl
