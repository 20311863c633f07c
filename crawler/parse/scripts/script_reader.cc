#include "crawler/parse/scripts/script_reader.h"

#include "crawler/parse/scripts/url_strings.h"

namespace trawl {

void ScriptReader::read_into(std::string_view bytes, const Url& base, PageLinks& page) {
  page = {};
  if (bytes.size() > max_bytes_) {
    page.skipped = LinksSkipped::kTooLarge;
    return;
  }
  made_.clear();
  UrlStrings strings(bytes, made_);
  while (page.links.size() < kMostGuesses) {
    const auto text = strings.next();
    if (!text) return;
    auto url = Url::parse(*text, &base);
    if (!url) continue;
    Link& link = page.links.emplace_back();
    link.url = *std::move(url);
    link.kind = LinkKind::kGuess;
    link.element = "script";
    link.attribute = "content";
  }
}

}  // namespace trawl
