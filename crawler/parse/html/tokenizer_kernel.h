// TokenizerKernel: the inner loops of HtmlTokenizer: a portable version, and versions for vector
// instructions of some processors. All give the same tokens.
#pragma once

#include <span>
#include <string_view>

#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/tag_filter.h"

namespace trawl {

struct TokenizerKernel {
  std::string_view name;
  // HtmlTokenizer::next_tag().
  TokenKind (*next_tag)(TokenizerState&, const TagFilter&);
  // Reads the tag at state.position, which begins with '<' or '</' and a letter. Returns kEnd if
  // the page ends within the tag.
  TokenKind (*read_tag)(TokenizerState&);
};

// The kernels that this processor can run, the fastest last.
std::span<const TokenizerKernel> tokenizer_kernels() noexcept;

}  // namespace trawl
