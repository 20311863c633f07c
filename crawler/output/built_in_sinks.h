// built_in_sinks: the kinds of sinks that a config can ask for.
#pragma once

#include <span>

#include "crawler/output/output_sink.h"

namespace trawl {

// The one place where they are listed: see SinkKind.
std::span<const SinkKind> built_in_sinks();

}  // namespace trawl
