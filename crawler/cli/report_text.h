// report_text: the report on a crawl for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace trawl::cli {

// `report`: CrawlReport::json(), which may come from a running crawl.
std::string report_text(const nlohmann::ordered_json& report);

}  // namespace trawl::cli
