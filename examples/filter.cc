// Prints the first occurrence of each line of its input, in bounded memory:
//   c++ -std=c++20 filter.cc -o filter $(pkg-config --cflags --libs trawl-filter)
#include <cstdio>
#include <iostream>
#include <string>

#include "trawl/growing_bloom_filter.h"

int main() {
  auto seen = trawl::GrowingBloomFilter::create({.capacity = 1'000'000});
  if (!seen) {
    std::fprintf(stderr, "%s\n", seen.error().message.c_str());
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (seen->insert(seen->hash()(line))) std::puts(line.c_str());
  }
}
