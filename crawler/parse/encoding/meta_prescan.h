// What the markup at the start of a page says of its encoding.
#pragma once

#include <optional>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// "Prescan a byte stream to determine its encoding"
// (https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding):
// `head` is the start of the page, as much of it as is to be looked at.
std::optional<PageEncoding> prescan_encoding(std::string_view head);

// "Extract a character encoding from a meta element", of the value of its content attribute.
std::optional<PageEncoding> encoding_in_meta_content(std::string_view content);

}  // namespace trawl
