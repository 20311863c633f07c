// Reads back with which depths URLs wait, when a frontier is opened.
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

// Adds what waits in the store to `depths`, which is empty; if there is more than fits, as much as
// does. Forgets notes about URLs that certainly wait no more. `deepest`: the
// greatest depth ever admitted. Errors: those of the store.
Result<void> read_waiting_depths(Store& store, std::uint64_t deepest, const UrlIdentity& identity,
                                 WaitingDepths& depths);

}  // namespace trawl
