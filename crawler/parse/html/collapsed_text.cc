#include "crawler/parse/html/collapsed_text.h"

#include "base/ascii.h"

namespace trawl {
namespace {

// How many bytes of `text` fit into `size` without cutting a character.
std::size_t whole_characters(std::string_view text, std::size_t size) noexcept {
  if (text.size() <= size) return text.size();
  std::size_t cut = size;
  while (cut > 0 && size - cut < 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
    --cut;
  return size - cut < 4 ? cut : size;
}

}  // namespace

void CollapsedText::add(std::string_view text) {
  while (!text.empty() && !full_) {
    if (is_html_white_space(text.front())) add_space();
    const std::string_view word = next_token(text);
    if (word.empty()) return;
    add_word(word);
  }
}

void CollapsedText::add_word(std::string_view word) {
  const std::size_t gap = space_ && !out_.empty() ? 1 : 0;
  const std::size_t room = limit_ - out_.size();
  const std::size_t fits = room > gap ? whole_characters(word, room - gap) : 0;
  full_ = fits < word.size();
  if (fits == 0) return;
  out_.append(gap, ' ');
  out_ += word.substr(0, fits);
  space_ = false;
}

}  // namespace trawl
