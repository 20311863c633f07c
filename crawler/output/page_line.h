// The lines of pages.jsonl, links.jsonl and skipped.jsonl; docs/output.md describes them.
#pragma once

#include <string>
#include <string_view>

#include "crawler/output/page_output.h"

namespace trawl {

// Each appends one line, with its newline.
void append_page_line(std::string& out, const PageOutput& page);
void append_link_line(std::string& out, std::string_view from, const LinkRecord& link);
void append_skipped_line(std::string& out, std::string_view from, const SkippedRecord& skipped);

}  // namespace trawl
