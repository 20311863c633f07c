// The HTML of the sample site's pages: links in every way that HTML and URLs allow.
#pragma once

#include <cstdint>
#include <string>

namespace trawl {

class SampleWeb;

std::string sample_page_html(const SampleWeb& web, std::uint64_t page);

}  // namespace trawl
