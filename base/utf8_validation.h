// UTF-8 validation at several gigabytes a second.
#pragma once

#include <cstddef>
#include <string_view>

namespace trawl {

// True iff `bytes` are well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing
// above U+10FFFF, no truncated sequences. Uses AVX2 if the processor has it.
bool is_utf8(std::string_view bytes);

// The same without vector instructions.
bool is_utf8_portable(std::string_view bytes);

// Length of the well-formed sequence at the start of `bytes`, which must not be empty; 0 if there
// is none.
std::size_t utf8_sequence_length(std::string_view bytes);

// Length of a truncated sequence at the end of `bytes`, which more bytes could make well-formed; 0
// if there is none.
std::size_t unfinished_utf8_length(std::string_view bytes);

}  // namespace trawl
