#include "crawler/parse/html/text_decoder.h"

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "base/utf8_validation.h"
#include "crawler/parse/encoding/valid_utf8.h"

namespace trawl {
namespace {

// Text longer than this without white space or references need not be read further.
constexpr std::size_t kLongestPiece = 4096;

}  // namespace

// Adds `raw` text of the page. Decodes only as much as fits.
void TextDecoder::add(std::string_view raw, std::optional<ReferenceContext> context,
                      CollapsedText& text) {
  while (!raw.empty() && !text.full()) {
    std::string_view piece = raw.substr(0, kLongestPiece);
    if (piece.size() < raw.size()) {
      // Neither occurs inside a character reference.
      const std::size_t cut = piece.find_last_of(" \t\n\f\r&");
      if (cut != std::string_view::npos && cut > 0) piece = piece.substr(0, cut);
    }
    add_piece(piece, context, text);
    raw.remove_prefix(piece.size());
  }
}

void TextDecoder::add_piece(std::string_view raw, std::optional<ReferenceContext> context,
                            CollapsedText& text) {
  if (context && needs_decoding(raw)) {
    decoded_.clear();
    decode_text(raw, *context, decoded_);
    raw = decoded_;
  }
  const bool valid = ascii_prefix_length(raw) == raw.size() || is_utf8(raw);
  if (!valid) raw = replace_invalid_utf8(raw, valid_);
  // Only CDATA sections still have NULs.
  for (std::size_t nul = raw.find('\0'); nul != std::string_view::npos; nul = raw.find('\0')) {
    text.add(raw.substr(0, nul));
    text.add(kReplacementInUtf8);
    raw.remove_prefix(nul + 1);
  }
  text.add(raw);
}

}  // namespace trawl
