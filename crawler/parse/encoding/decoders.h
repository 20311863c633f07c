// The decoders of the Encoding Standard (https://encoding.spec.whatwg.org/) for all encodings
// except UTF-8. Invalid bytes become U+FFFD. If a sequence is invalid because of its last byte and
// that byte is ASCII, the byte is kept: it may be the '<' or '"' that ends what a hostile page
// tries to hide. Linear time; at most three bytes of output per byte of input.
#pragma once

#include <string_view>

#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/packed_utf8.h"

namespace trawl {

void decode_single_byte(std::string_view bytes, const SingleByteIndex& index, Utf8Output& out);

void decode_big5(std::string_view bytes, Utf8Output& out);
void decode_euc_jp(std::string_view bytes, Utf8Output& out);
void decode_euc_kr(std::string_view bytes, Utf8Output& out);
void decode_gb18030(std::string_view bytes, Utf8Output& out);  // also GBK
void decode_shift_jis(std::string_view bytes, Utf8Output& out);

void decode_iso_2022_jp(std::string_view bytes, Utf8Output& out);

enum class ByteOrder { kLittleEndian, kBigEndian };
void decode_utf16(std::string_view bytes, ByteOrder order, Utf8Output& out);

}  // namespace trawl
