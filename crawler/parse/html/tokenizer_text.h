// What is no tag: raw text, and all that begins with "<!", "<?" or "</" and no letter.
#pragma once

#include "base/ascii.h"
#include "crawler/parse/html/tokenizer.h"

namespace trawl {

// The first `byte` in [start, end), or `end`.
const char* find_byte(const char* start, const char* end, char byte) noexcept;

// If the content is anything but kData, makes it that. Returns where the text from state.position
// on ends: at the end tag, or at the end of the page.
const char* leave_raw_text(TokenizerState& state) noexcept;

// Reads what begins at state.position with "<!", "<?" or "</" and no letter. state.position is then
// behind it. kText if it is nothing: "</>".
TokenKind read_declaration(TokenizerState& state) noexcept;

// Where to go on behind what begins with the '<' at `open` but is no tag; a byte must follow it.
inline const char* skip_other(TokenizerState& state, const char* open) noexcept {
  if (open[1] != '/' && open[1] != '!' && open[1] != '?') return open + 1;
  state.position = open;
  read_declaration(state);
  return state.position;
}

// Reads an attribute that is not name="value" without white space, up to its end or that of the
// page, which it returns.
const char* read_odd_attribute(TokenizerState& state, const char* name, const char* name_end);

// Sets the state to the end of the page. Returns kEnd.
TokenKind end_of_page(TokenizerState& state) noexcept;

}  // namespace trawl
