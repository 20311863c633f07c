// The sink of saved pages; docs/output.md describes the files.
#pragma once

#include <string>

#include "crawler/config/crawl_config.h"
#include "crawler/output/output_sink.h"

namespace trawl {

SinkKind files_sink();

// What a crawl with `config` keeps of the pages' bodies, as a sentence for its user. `directory`:
// the output directory, as it is to be shown.
std::string kept_bodies(const CrawlConfig& config, const std::string& directory);

}  // namespace trawl
