// Lines of the list of pages of a WACZ.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// The first line of pages.jsonl in a WACZ.
std::string wacz_pages_head();
// Appends the line of a page, by its line in the crawl's pages.jsonl. False: it is not an HTML page
// that was fetched, or the line is damaged.
bool append_wacz_page(std::string_view crawl_line, std::string& out);
// The same by a line of an index (CDXJ), which has neither title nor text.
bool append_wacz_page_of_index(std::string_view index_line, std::string& out);

}  // namespace trawl
