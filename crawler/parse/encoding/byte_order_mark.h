// Byte order marks.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// The encoding whose byte order mark `bytes` begin with.
std::optional<PageEncoding> byte_order_mark(std::string_view bytes) noexcept;

// The length of the byte order mark of `encoding` if `bytes` begin with it, else 0.
std::size_t byte_order_mark_length(std::string_view bytes, PageEncoding encoding) noexcept;

}  // namespace trawl
