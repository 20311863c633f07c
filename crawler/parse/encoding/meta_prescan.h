// Finds the encoding that the markup at the start of a page declares.
#pragma once

#include <optional>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// "Prescan a byte stream to determine its encoding"
// (https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding):
// `head` is the part of the page to examine.
std::optional<PageEncoding> prescan_encoding(std::string_view head);

// "Extract a character encoding from a meta element", of the value of its content attribute.
std::optional<PageEncoding> encoding_in_meta_content(std::string_view content);

}  // namespace trawl
