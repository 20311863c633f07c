#include "crawler/output/built_in_sinks.h"

#include "crawler/output/files_sink.h"
#include "crawler/output/json_sinks.h"
#include "crawler/output/warc_sink.h"

namespace trawl {

// A stage is written in the order of this list. pages.jsonl last: a page with a line there has its
// lines in the other files, too.
std::span<const SinkKind> built_in_sinks() {
  static const SinkKind kKinds[] = {warc_sink(), files_sink(), links_sink(), skipped_sink(),
                                    pages_sink()};
  return kKinds;
}

}  // namespace trawl
