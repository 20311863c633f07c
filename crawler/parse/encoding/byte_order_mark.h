// Byte order marks.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// The encoding that `bytes` begin with the byte order mark of.
std::optional<PageEncoding> byte_order_mark(std::string_view bytes) noexcept;

// Length of the byte order mark of `encoding` that `bytes` begin with, or 0.
std::size_t byte_order_mark_length(std::string_view bytes, PageEncoding encoding) noexcept;

}  // namespace trawl
