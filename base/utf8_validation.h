// Whether bytes are UTF-8, at several gigabytes a second.
#pragma once

#include <cstddef>
#include <string_view>

namespace trawl {

// True iff `bytes` are well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing
// above U+10FFFF, nothing cut short. Uses AVX2 where the processor has it.
bool is_utf8(std::string_view bytes);

// The same without vector instructions.
bool is_utf8_portable(std::string_view bytes);

// Length of the well-formed sequence that `bytes`, which are not empty, begin with; 0 if there is
// none.
std::size_t utf8_sequence_length(std::string_view bytes);

// Length of what the end of `bytes` cuts short: the start of a sequence that more bytes could make
// well-formed. 0 if there is none.
std::size_t unfinished_utf8_length(std::string_view bytes);

}  // namespace trawl
