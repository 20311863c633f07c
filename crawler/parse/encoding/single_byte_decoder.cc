#include <cstddef>

#include "base/ascii_prefix.h"
#include "crawler/parse/encoding/decoders.h"

namespace trawl {

void decode_single_byte(std::string_view bytes, const SingleByteIndex& index, Utf8Output& out) {
  const auto put = [&](char byte) { out.put(index[static_cast<unsigned char>(byte)]); };
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (end - at >= 8) {
    if ((load_8_bytes(at) & kNonAsciiBits) == 0) {
      at = out.put_ascii(at, end);
      continue;
    }
    // Treats ASCII and other bytes alike, which is faster than distinguishing them.
    out.make_room();
    for (int i = 0; i < 8; ++i)
      put(at[i]);
    at += 8;
  }
  out.make_room();
  while (at < end)
    put(*at++);
}

}  // namespace trawl
