// repeated: a piece of text again and again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trawl::test {

inline std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (; times > 0; --times)
    text += piece;
  return text;
}

}  // namespace trawl::test
