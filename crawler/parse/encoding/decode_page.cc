#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii_prefix.h"
#include "crawler/parse/encoding/byte_order_mark.h"
#include "crawler/parse/encoding/decoders.h"
#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/packed_utf8.h"
#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

namespace {

// Whether ASCII bytes may represent other characters.
bool is_stateful(EncodingFamily family) {
  switch (family) {
    case EncodingFamily::kIso2022Jp:
    case EncodingFamily::kReplacement:
    case EncodingFamily::kUtf16Be:
    case EncodingFamily::kUtf16Le:
      return true;
    default:
      return false;
  }
}

void decode(std::string_view bytes, PageEncoding encoding, Utf8Output& out) {
  switch (encoding_info(encoding).family) {
    case EncodingFamily::kUtf8:
      break;
    case EncodingFamily::kSingleByte:
      return decode_single_byte(bytes, single_byte_index(encoding), out);
    case EncodingFamily::kGbk:
    case EncodingFamily::kGb18030:
      return decode_gb18030(bytes, out);
    case EncodingFamily::kBig5:
      return decode_big5(bytes, out);
    case EncodingFamily::kEucJp:
      return decode_euc_jp(bytes, out);
    case EncodingFamily::kIso2022Jp:
      return decode_iso_2022_jp(bytes, out);
    case EncodingFamily::kShiftJis:
      return decode_shift_jis(bytes, out);
    case EncodingFamily::kEucKr:
      return decode_euc_kr(bytes, out);
    case EncodingFamily::kUtf16Be:
      return decode_utf16(bytes, ByteOrder::kBigEndian, out);
    case EncodingFamily::kUtf16Le:
      return decode_utf16(bytes, ByteOrder::kLittleEndian, out);
    case EncodingFamily::kReplacement:
      // Not decoded, since such encodings can hide markup.
      if (!bytes.empty()) out.put(kPackedReplacement);
      break;
  }
}

}  // namespace

std::string_view decode_page(std::string_view bytes, PageEncoding encoding, std::string& buffer) {
  bytes.remove_prefix(byte_order_mark_length(bytes, encoding));
  if (encoding.is_utf8()) return bytes;
  if (!is_stateful(encoding_info(encoding).family) && ascii_prefix_length(bytes) == bytes.size()) {
    return bytes;
  }
  // Enough for text of which a third is markup.
  Utf8Output out(buffer, bytes.size() + bytes.size() / 2);
  decode(bytes, encoding, out);
  return out.text();
}

}  // namespace trawl
