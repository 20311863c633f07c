// random_text: text of pieces drawn at random.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

namespace trawl::test {

// `count` of `pieces`, an array of texts or a text of characters.
template <class Random, class Pieces>
std::string random_text(Random& random, const Pieces& pieces, std::size_t count) {
  std::string text;
  for (; count > 0; --count)
    text += pieces[random() % std::size(pieces)];
  return text;
}

}  // namespace trawl::test
