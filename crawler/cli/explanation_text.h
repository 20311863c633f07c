// explanation_text: an explanation of a URL for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace trawl::cli {

// `it`: the JSON of an explanation, which may come from a running crawl. The verdict is the first
// line.
std::string explanation_text(const nlohmann::ordered_json& it);

}  // namespace trawl::cli
