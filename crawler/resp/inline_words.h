// split_inline_words: the words of a request typed as a line, with quotes as in Redis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crawler/resp/request_parser.h"

namespace trawl::resp {

// Appends the words of `line` to `text`, and the place of each to `parts`. Inside "double quotes"
// \n \r \t \b \a \xHH and \ before any other character count, inside 'single quotes' \'. Returns
// false if a quote is not closed, or is followed by something other than white space.
bool split_inline_words(std::string_view line, std::string& text,
                        std::vector<Request::Part>& parts);

}  // namespace trawl::resp
