// ScriptReader: what looks like URLs in a script or JSON document that is a file.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "trawl/links.h"
#include "trawl/url.h"

namespace trawl {

// How many guesses of a document are used.
inline constexpr std::size_t kMostGuesses = 1000;

// Accepts any bytes, takes linear time. Reuses its buffers. Not thread-safe.
class ScriptReader {
 public:
  // `max_bytes`: of documents that are read.
  explicit ScriptReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Replaces page.links by the strings that UrlStrings finds, as links of the kind kGuess, the
  // element "script" and the attribute "content", in their order, with duplicates, at most
  // kMostGuesses. `bytes`: taken as UTF-8. Strings that are not URLs are left out. `base`: of the
  // page that loads the script, by which a browser resolves them, or of the JSON document.
  void read_into(std::string_view bytes, const Url& base, PageLinks& page);

 private:
  const std::size_t max_bytes_;
  std::deque<std::string> made_;
};

}  // namespace trawl
