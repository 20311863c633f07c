#include "crawler/parse/sitemap/text_sitemap_parser.h"

#include "base/ascii.h"

namespace trawl {

bool TextSitemapParser::feed(std::string_view text) {
  while (!collector_.full()) {
    const std::size_t end = text.find_first_of("\r\n");
    append(text.substr(0, end));
    if (end == text.npos) return true;
    end_line();
    text.remove_prefix(end + 1);
  }
  return false;
}

bool TextSitemapParser::finish() {
  return end_line();
}

void TextSitemapParser::append(std::string_view text) {
  if (line_.empty()) skip_white_space(text);
  // Room for trailing spaces, which are ignored.
  const std::size_t room = collector_.options().max_url_length + 1024 - line_.size();
  cut_ = cut_ || text.size() > room;
  line_.append(text.substr(0, room));
}

bool TextSitemapParser::end_line() {
  const bool going_on = collector_.add_line(line_, cut_);
  line_.clear();
  cut_ = false;
  return going_on;
}

}  // namespace trawl
