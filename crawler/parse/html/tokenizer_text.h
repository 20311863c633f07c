// Reads tokens other than tags: raw text, and markup that begins with "<!", "<?", or "</" without a
// letter.
#pragma once

#include "base/ascii.h"
#include "crawler/parse/html/html_tokenizer.h"

namespace trawl {

// The first `byte` in [start, end), or `end`.
const char* find_byte(const char* start, const char* end, char byte) noexcept;

// Ends a content model other than kData. Returns the end of the text that begins at state.position:
// the end tag, or the end of the page.
const char* leave_raw_text(TokenizerState& state) noexcept;

// Reads markup at state.position that begins with "<!", "<?", or "</" without a letter, and moves
// state.position past it. Returns kText for "</>", which produces nothing.
TokenKind read_declaration(TokenizerState& state) noexcept;

// Skips markup other than a tag that begins with the '<' at `open`; returns where to continue. A
// byte must follow `open`.
inline const char* skip_other(TokenizerState& state, const char* open) noexcept {
  if (open[1] != '/' && open[1] != '!' && open[1] != '?') return open + 1;
  state.position = open;
  read_declaration(state);
  return state.position;
}

// Reads an attribute in any form other than name="value" without white space. Returns its end, or
// the end of the page.
const char* read_odd_attribute(TokenizerState& state, const char* name, const char* name_end);

// Sets the state to the end of the page. Returns kEnd.
TokenKind end_of_page(TokenizerState& state) noexcept;

}  // namespace trawl
