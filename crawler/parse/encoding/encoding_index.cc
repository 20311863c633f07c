#include "crawler/parse/encoding/encoding_index.h"

#include <bit>
#include <string>

#include <iconv.h>

#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/index_corrections.h"
#include "crawler/parse/encoding/per_encoding.h"
#include "crawler/parse/encoding/windows_1252.h"

namespace trawl {

namespace {

// Decodes single characters with iconv().
class IconvCharacters {
 public:
  explicit IconvCharacters(const char* name)
      : converter_(::iconv_open(
            std::endian::native == std::endian::little ? "UTF-32LE" : "UTF-32BE", name)) {}
  ~IconvCharacters() {
    if (is_open()) ::iconv_close(converter_);
  }
  IconvCharacters(const IconvCharacters&) = delete;
  IconvCharacters& operator=(const IconvCharacters&) = delete;

  bool is_open() const { return converter_ != reinterpret_cast<iconv_t>(-1); }

  // Returns 0 unless `bytes` are exactly one character.
  char32_t operator()(std::string_view bytes) {
    std::array<char32_t, 8> characters{};
    ::iconv(converter_, nullptr, nullptr, nullptr, nullptr);
    char* in = const_cast<char*>(bytes.data());  // not written to
    std::size_t in_left = bytes.size();
    char* out = reinterpret_cast<char*>(characters.data());
    std::size_t out_left = sizeof(characters);
    const std::size_t result = ::iconv(converter_, &in, &in_left, &out, &out_left);
    if (result == static_cast<std::size_t>(-1) || in_left != 0) return 0;
    // Flushes converters that wait for a combining character.
    ::iconv(converter_, nullptr, nullptr, &out, &out_left);
    const bool one = sizeof(characters) - out_left == sizeof(char32_t);
    return one ? characters[0] : 0;
  }

 private:
  iconv_t converter_;
};

template <class Set>
void correct(const IndexCorrection& correction, Set set) {
  for (unsigned i = 0; i < correction.count; ++i)
    set(correction.bytes + i, correction.code_point + i);
}

// The index of an encoding with ASCII only.
SingleByteIndex ascii_index() {
  SingleByteIndex index;
  for (unsigned byte = 0; byte <= 0xFF; ++byte)
    index[byte] = byte < 0x80 ? pack_utf8(byte) : kPackedReplacement;
  return index;
}

SingleByteIndex windows_1252_index() {
  SingleByteIndex index = ascii_index();
  for (unsigned byte = 0x80; byte <= 0xFF; ++byte)
    index[byte] = pack_utf8(windows_1252_character(static_cast<unsigned char>(byte)));
  return index;
}

SingleByteIndex x_user_defined_index() {
  SingleByteIndex index = ascii_index();
  for (unsigned byte = 0x80; byte <= 0xFF; ++byte)
    index[byte] = pack_utf8(0xF700 + byte);
  return index;
}

SingleByteIndex index_of(PageEncoding encoding) {
  const EncodingInfo& info = encoding_info(encoding);
  if (info.name == "windows-1252") return windows_1252_index();
  if (info.name == "x-user-defined") return x_user_defined_index();
  return make_single_byte_index(info.iconv_name, info.name);
}

PointerIndex make_jis0208_index() {
  PointerIndex index = make_two_byte_index({.iconv_name = "CP932",
                                            .prefix = "",
                                            .pointers = kJis0208Pointers,
                                            .is_lead = is_shift_jis_lead,
                                            .pointer = shift_jis_pointer,
                                            .corrections = {}});
  for (std::size_t i = kFirstUserDefinedPointer; i <= kLastUserDefinedPointer; ++i)
    index[i] = pack_utf8(static_cast<char32_t>(0xE000 + (i - kFirstUserDefinedPointer)));
  return index;
}

PointerIndex make_gb18030_four_byte_index() {
  constexpr unsigned kPointers = 39420;
  PointerIndex index(kPointers, 0);
  IconvCharacters characters("GB18030");
  if (!characters.is_open()) return index;
  for (unsigned pointer = 0; pointer < kPointers; ++pointer) {
    const std::array<char, 4> bytes = {
        static_cast<char>(0x81 + pointer / 12600), static_cast<char>(0x30 + pointer / 1260 % 10),
        static_cast<char>(0x81 + pointer / 10 % 126), static_cast<char>(0x30 + pointer % 10)};
    index[pointer] = pack_utf8(characters({bytes.data(), bytes.size()}));
  }
  for (const IndexCorrection& correction : kGb18030FourByteCorrections) {
    correct(correction,
            [&index](unsigned pointer, char32_t to) { index[pointer] = pack_utf8(to); });
  }
  return index;
}

}  // namespace

PointerIndex make_two_byte_index(const TwoByteLayout& layout) {
  PointerIndex index(layout.pointers, 0);
  IconvCharacters characters(layout.iconv_name);
  if (!characters.is_open()) return index;
  std::string bytes(layout.prefix);
  const std::size_t at = bytes.size();
  bytes.resize(at + 2);
  for (unsigned lead = 0x81; lead <= 0xFE; ++lead) {
    if (!layout.is_lead(lead)) continue;
    for (unsigned trail = 0x40; trail <= 0xFE; ++trail) {
      const std::size_t pointer = layout.pointer(lead, trail);
      if (pointer == kNoPointer) continue;
      bytes[at] = static_cast<char>(lead);
      bytes[at + 1] = static_cast<char>(trail);
      index[pointer] = pack_utf8(characters(bytes));
    }
  }
  for (const IndexCorrection& correction : layout.corrections) {
    correct(correction, [&](unsigned from, char32_t to) {
      index[layout.pointer(from >> 8, from & 0xFF)] = pack_utf8(to);
    });
  }
  return index;
}

SingleByteIndex make_single_byte_index(const char* iconv_name, std::string_view name) {
  SingleByteIndex index = ascii_index();
  IconvCharacters characters(iconv_name);
  if (!characters.is_open()) return index;
  const bool has_controls = name.starts_with("windows-");
  for (unsigned byte = 0x80; byte <= 0xFF; ++byte) {
    const char text = static_cast<char>(byte);
    char32_t character = characters({&text, 1});
    if (character == 0 && has_controls && byte < 0xA0) character = byte;
    if (character != 0) index[byte] = pack_utf8(character);
  }
  for (const SingleByteCorrection& entry : kSingleByteCorrections) {
    if (entry.encoding != name) continue;
    correct(entry.correction,
            [&index](unsigned byte, char32_t to) { index[byte] = pack_utf8(to); });
  }
  return index;
}

const SingleByteIndex& single_byte_index(PageEncoding encoding) {
  static PerEncoding<SingleByteIndex> indexes;
  return indexes.get(encoding, index_of);
}

const PointerIndex& big5_index() {
  static const PointerIndex index = make_two_byte_index({.iconv_name = "BIG5-HKSCS",
                                                         .prefix = "",
                                                         .pointers = kBig5Pointers,
                                                         .is_lead = is_lead,
                                                         .pointer = big5_pointer,
                                                         .corrections = kBig5Corrections});
  return index;
}

const PointerIndex& euc_kr_index() {
  static const PointerIndex index = make_two_byte_index({.iconv_name = "UHC",
                                                         .prefix = "",
                                                         .pointers = kEucKrPointers,
                                                         .is_lead = is_lead,
                                                         .pointer = euc_kr_pointer,
                                                         .corrections = {}});
  return index;
}

const PointerIndex& gb18030_index() {
  static const PointerIndex index = make_two_byte_index({.iconv_name = "GB18030",
                                                         .prefix = "",
                                                         .pointers = kGb18030Pointers,
                                                         .is_lead = is_lead,
                                                         .pointer = gb18030_pointer,
                                                         .corrections = kGb18030Corrections});
  return index;
}

const PointerIndex& gb18030_four_byte_index() {
  static const PointerIndex index = make_gb18030_four_byte_index();
  return index;
}

const PointerIndex& jis0208_index() {
  static const PointerIndex index = make_jis0208_index();
  return index;
}

const PointerIndex& jis0212_index() {
  static const PointerIndex index = make_two_byte_index({.iconv_name = "EUC-JP",
                                                         .prefix = "\x8F",
                                                         .pointers = kJis0212Pointers,
                                                         .is_lead = is_euc,
                                                         .pointer = euc_jp_pointer,
                                                         .corrections = {}});
  return index;
}

}  // namespace trawl
