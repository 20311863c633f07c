// TokenizerKernel: the inner loops of HtmlTokenizer, one set that runs anywhere and some for the
// vector instructions of certain processors. All find the same.
#pragma once

#include <span>
#include <string_view>

#include "crawler/parse/html/tokenizer.h"

namespace trawl {

struct TokenizerKernel {
  std::string_view name;
  // HtmlTokenizer::next_tag().
  TokenKind (*next_tag)(TokenizerState&);
  // Reads the tag that begins at state.position: '<' or '</' and a letter. kEnd if the page ends in
  // it.
  TokenKind (*read_tag)(TokenizerState&);
};

// Those that run here, the fastest last.
std::span<const TokenizerKernel> tokenizer_kernels() noexcept;

}  // namespace trawl
