// The sinks of pages.jsonl, links.jsonl and skipped.jsonl; docs/output.md describes the files.
#pragma once

#include "crawler/output/output_sink.h"

namespace trawl {

SinkKind pages_sink();
SinkKind links_sink();
SinkKind skipped_sink();

}  // namespace trawl
