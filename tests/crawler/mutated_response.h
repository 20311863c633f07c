// Valid HTTP/1.x responses with some things in them changed at random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace trawl::test {

using Random = std::mt19937_64;

// From 0 to `most`.
inline std::uint64_t up_to(Random& random, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>(0, most)(random);
}
inline bool one_in(Random& random, std::uint64_t n) {
  return up_to(random, n - 1) == 0;
}
template <class Container>
auto& any_of(Random& random, Container& all) {
  return all[up_to(random, all.size() - 1)];
}

// Changes, inserts, removes or repeats a few bytes.
void mutate_bytes(Random& random, std::string& bytes);

// What a server does instead of answering well.
struct MutatedResponse {
  enum class End : std::uint8_t { kKeepAlive, kClose, kReset, kStall };
  std::vector<std::string> sends;  // one after the other
  End end = End::kClose;
};

// A response with up to four mutations of its status line, headers, folding, lengths, chunks,
// encoding, trailers, or the interim responses before it. The same for the same `seed`.
MutatedResponse mutated_response(std::uint64_t seed);

}  // namespace trawl::test
