// Character references: "&amp;", "&#38;", decoded as the HTML Standard says
// (https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trawl {

// The context of a reference: in attributes, "&copy=1" is text.
enum class ReferenceContext : std::uint8_t { kText, kAttribute };

// True if decode_text() would change something: an '&', a NUL or a carriage return.
bool needs_decoding(std::string_view raw) noexcept;

// Appends the decoded text of `raw` from the tokenizer to `out`: character references are decoded,
// NULs become U+FFFD, CR and CRLF become LF.
void decode_text(std::string_view raw, ReferenceContext context, std::string& out);

// The characters that "&name;" stands for: one or two; 0 for none.
struct NamedCharacters {
  char32_t first = 0;
  char32_t second = 0;
};
NamedCharacters find_named_characters(std::string_view name) noexcept;

}  // namespace trawl
