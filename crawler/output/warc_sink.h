// The sink of WARC files; docs/warc.md describes them.
#pragma once

#include "crawler/output/output_sink.h"

namespace trawl {

SinkKind warc_sink();

}  // namespace trawl
