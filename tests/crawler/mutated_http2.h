// Valid HTTP/2 responses, as frames, with some things in them changed at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trawl::test {

struct MutatedHttp2 {
  enum class End : std::uint8_t { kKeepAlive, kClose, kReset, kStall };
  std::vector<std::string> records;  // each sent on its own
  End end = End::kClose;
};

// A response on `stream` with up to four mutations of its frames and headers, or none if `seed` is
// 0. The same for the same arguments.
MutatedHttp2 mutated_http2(std::uint64_t seed, std::uint32_t stream, const std::string& body);

// The server's first frame.
std::string http2_settings();
std::string http2_settings_ack();

}  // namespace trawl::test
