// What the layers of a saved growing filter must be, whether it is loaded or mapped.
#pragma once

#include <string>

#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// kCorrupt if no growing filter has layers of such capacities, rates, sizes and counts.
Result<void> check_layers(const SnapshotHeader& header, const std::string& path);

}  // namespace trawl
