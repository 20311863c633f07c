// metrics_text: a crawl's counters as metrics for Prometheus.
#pragma once

#include <string>

#include "crawler/run/crawl.h"

namespace trawl {

std::string metrics_text(const Crawl& crawl);

}  // namespace trawl
