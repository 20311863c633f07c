// The encoding of a style sheet.
#pragma once

#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Detects the encoding of a style sheet by CSS Syntax Level 3
// (https://www.w3.org/TR/css-syntax-3/#input-byte-stream): byte order mark, the charset of
// `content_type` (the value of the HTTP header), "@charset" at its beginning, else `environment`,
// the encoding of what refers to it.
PageEncoding style_sheet_encoding(std::string_view bytes, std::string_view content_type,
                                  PageEncoding environment = PageEncoding::utf8());

}  // namespace trawl
