// parse_offer_body: the URLs in the body of POST /api/v1/offer.
#pragma once

#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/run/crawl_control.h"

namespace trawl {

// {"urls": [...]} or an array, with texts or objects; an object; or lines of URLs or objects. An
// object has "url" and may have "priority" and "depth". Blank lines are skipped. URLs are not
// checked. Errors: kInvalidArgument, with the place.
Result<std::vector<OfferedUrl>> parse_offer_body(std::string_view body);

}  // namespace trawl
