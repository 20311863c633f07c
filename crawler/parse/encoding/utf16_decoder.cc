#include <bit>
#include <cstddef>
#include <cstdint>

#include "crawler/parse/encoding/decoders.h"

namespace trawl {

namespace {

template <ByteOrder kOrder>
class Units {
 public:
  explicit Units(std::string_view bytes) : bytes_(bytes) {}

  std::size_t count() const { return bytes_.size() / 2; }
  char32_t operator[](std::size_t i) const {
    const unsigned first = static_cast<unsigned char>(bytes_[2 * i]);
    const unsigned second = static_cast<unsigned char>(bytes_[2 * i + 1]);
    return kOrder == ByteOrder::kLittleEndian ? first | second << 8 : first << 8 | second;
  }

 private:
  std::string_view bytes_;
};

bool is_lead_surrogate(char32_t unit) {
  return (unit & 0xFC00) == 0xD800;
}
bool is_trail_surrogate(char32_t unit) {
  return (unit & 0xFC00) == 0xDC00;
}

template <ByteOrder kOrder>
void decode(std::string_view bytes, Utf8Output& out) {
  const Units<kOrder> units(bytes);
  std::size_t i = 0;
  bool cut_short = bytes.size() % 2 != 0;
  while (i < units.count()) {
    out.make_room();
    for (; units.count() - i >= 4; i += 4) {
      if ((units[i] | units[i + 1] | units[i + 2] | units[i + 3]) >= 0x80) break;
      for (std::size_t j = i; j < i + 4; ++j)
        out.put_byte(static_cast<char>(units[j]));
      out.make_room();
    }
    if (i >= units.count()) break;
    const char32_t unit = units[i++];
    if (unit < 0x80) {
      out.put_byte(static_cast<char>(unit));
    } else if (is_lead_surrogate(unit) && i < units.count() && is_trail_surrogate(units[i])) {
      out.put(pack_utf8(0x10000 + ((unit & 0x3FF) << 10) + (units[i++] & 0x3FF)));
    } else if (is_lead_surrogate(unit) && i == units.count()) {
      cut_short = true;  // one error together with the half unit after it
    } else {
      out.put(is_lead_surrogate(unit) || is_trail_surrogate(unit) ? kPackedReplacement
                                                                  : pack_utf8(unit));
    }
  }
  out.make_room();
  if (cut_short) out.put(kPackedReplacement);
}

}  // namespace

void decode_utf16(std::string_view bytes, ByteOrder order, Utf8Output& out) {
  if (order == ByteOrder::kLittleEndian) {
    decode<ByteOrder::kLittleEndian>(bytes, out);
  } else {
    decode<ByteOrder::kBigEndian>(bytes, out);
  }
}

}  // namespace trawl
