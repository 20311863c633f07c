// The HTML of the sample site's pages, with links in all forms of HTML and URLs.
#pragma once

#include <cstdint>
#include <string>

namespace trawl {

class SampleWeb;

std::string sample_page_html(const SampleWeb& web, std::uint64_t page);

}  // namespace trawl
