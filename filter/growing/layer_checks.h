// Checks the layers of a saved growing filter, for loading and mapping.
#pragma once

#include <string>

#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// kCorrupt if the layers' capacities, rates, sizes or counts are not possible for a growing filter.
Result<void> check_layers(const SnapshotHeader& header, const std::string& path);

}  // namespace trawl
