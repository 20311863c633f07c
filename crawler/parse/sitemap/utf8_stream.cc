#include "crawler/parse/sitemap/utf8_stream.h"

#include <array>
#include <cerrno>
#include <cstddef>

#include <iconv.h>

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "base/utf8_validation.h"
#include "crawler/parse/encoding/decoders.h"
#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/windows_1252.h"
#include "url/percent_encoding.h"

namespace trawl {
namespace {

// iconv's names of multi-byte encodings that can be declared in ASCII. Null for all others; a
// document with a readable declaration is not in UTF-16, even if it declares that.
const char* iconv_name(EncodingFamily family) {
  switch (family) {
    case EncodingFamily::kGbk:
    case EncodingFamily::kGb18030:
      return "GB18030";
    case EncodingFamily::kBig5:
      return "BIG5-HKSCS";
    case EncodingFamily::kEucJp:
      return "EUC-JP";
    case EncodingFamily::kShiftJis:
      return "CP932";
    case EncodingFamily::kEucKr:
      return "CP949";
    default:
      return nullptr;
  }
}

// The value of encoding="" in the XML declaration at the front of `bytes`.
std::string_view declared_label(std::string_view bytes) {
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == bytes.npos || !bytes.substr(start).starts_with("<?xml")) return {};
  const std::string_view declaration = bytes.substr(start, bytes.substr(start, 1024).find("?>"));
  std::size_t at = declaration.find("encoding");
  if (at == declaration.npos) return {};
  at = declaration.find_first_not_of(" \t\r\n=", at + 8);
  if (at == declaration.npos || (declaration[at] != '"' && declaration[at] != '\'')) return {};
  const std::size_t end = declaration.find(declaration[at], at + 1);
  if (end == declaration.npos) return {};
  return declaration.substr(at + 1, end - at - 1);
}

// The length of an incomplete UTF-16 character at the end of `bytes`.
std::size_t unfinished_utf16_length(std::string_view bytes, ByteOrder order) {
  const std::size_t half = bytes.size() % 2;
  const std::size_t units = bytes.size() - half;
  if (units == 0) return half;
  const char high = bytes[units - (order == ByteOrder::kBigEndian ? 2 : 1)];
  const bool lead_surrogate = (static_cast<unsigned char>(high) & 0xFC) == 0xD8;
  return half + (lead_surrogate ? 2 : 0);
}

}  // namespace

Utf8Stream::~Utf8Stream() {
  if (iconv_ != nullptr) iconv_close(static_cast<iconv_t>(iconv_));
}

void Utf8Stream::decode(std::string_view bytes, bool last, std::string& out) {
  if (!detected_ && !bytes.empty()) {
    bytes.remove_prefix(detect(bytes));
    detected_ = true;
  }
  std::string joined;
  if (!carry_.empty()) {
    joined = carry_;
    joined += bytes;
    bytes = joined;
  }
  std::size_t done = bytes.size();
  switch (encoding_) {
    case Encoding::kUtf8:
      done = decode_utf8(bytes, last, out);
      break;
    case Encoding::kUtf16Little:
    case Encoding::kUtf16Big:
      done = decode_utf16(bytes, last, out);
      break;
    case Encoding::kSingleByte: {
      Utf8Output text(decoded_, bytes.size());
      decode_single_byte(bytes, *single_byte_index_, text);
      out += text.text();
      break;
    }
    case Encoding::kIconv:
      done = decode_iconv(bytes, last, out);
      break;
  }
  std::string rest(bytes.substr(done));
  carry_.swap(rest);
}

// Returns the length of the byte order mark.
std::size_t Utf8Stream::detect(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with(kByteOrderMark)) return 3;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("<\0"sv)) {
    encoding_ = Encoding::kUtf16Little;
    return bytes.starts_with("<") ? 0 : 2;
  }
  if (bytes.starts_with("\xFE\xFF") || bytes.starts_with("\0<"sv)) {
    encoding_ = Encoding::kUtf16Big;
    return bytes[0] == '\0' ? 0 : 2;
  }
  if (const auto declared = PageEncoding::find(declared_label(bytes))) choose(*declared);
  return 0;
}

void Utf8Stream::choose(PageEncoding declared) {
  const EncodingFamily family = encoding_info(declared).family;
  if (family == EncodingFamily::kSingleByte) {
    encoding_ = Encoding::kSingleByte;
    single_byte_index_ = &single_byte_index(declared);
    return;
  }
  const char* const name = iconv_name(family);
  if (name == nullptr) return;
  const iconv_t opened = iconv_open("UTF-8", name);
  // Without this converter, bytes are read as they are: ASCII, and with it nearly every URL, is
  // right.
  if (opened == reinterpret_cast<iconv_t>(-1)) return;
  iconv_ = opened;
  encoding_ = Encoding::kIconv;
}

std::size_t Utf8Stream::decode_utf8(std::string_view bytes, bool last, std::string& out) {
  bytes.remove_suffix(last ? 0 : unfinished_utf8_length(bytes));
  if (is_utf8(bytes)) {
    out += bytes;
    return bytes.size();
  }
  repaired_ = true;
  std::size_t at = 0;
  while (true) {
    const std::size_t ascii = ascii_prefix_length(bytes.substr(at));
    out.append(bytes, at, ascii);
    at += ascii;
    if (at == bytes.size()) return at;
    if (const std::size_t length = utf8_sequence_length(bytes.substr(at))) {
      out.append(bytes, at, length);
      at += length;
    } else {
      append_utf8(windows_1252_character(static_cast<unsigned char>(bytes[at++])), out);
    }
  }
}

std::size_t Utf8Stream::decode_utf16(std::string_view bytes, bool last, std::string& out) {
  const ByteOrder order =
      encoding_ == Encoding::kUtf16Big ? ByteOrder::kBigEndian : ByteOrder::kLittleEndian;
  bytes.remove_suffix(last ? 0 : unfinished_utf16_length(bytes, order));
  Utf8Output text(decoded_, bytes.size());
  trawl::decode_utf16(bytes, order, text);
  out += text.text();
  return bytes.size();
}

std::size_t Utf8Stream::decode_iconv(std::string_view bytes, bool last, std::string& out) {
  char* in = const_cast<char*>(bytes.data());
  std::size_t in_left = bytes.size();
  while (in_left > 0) {
    std::array<char, 4096> buffer;
    char* to = buffer.data();
    std::size_t room = buffer.size();
    const std::size_t status = iconv(static_cast<iconv_t>(iconv_), &in, &in_left, &to, &room);
    const int error = errno;
    out.append(buffer.data(), buffer.size() - room);
    if (status != static_cast<std::size_t>(-1) || error == E2BIG) continue;
    // An incomplete character is a few bytes: with more, the converter is stuck.
    if (error == EINVAL && !last && in_left < 16) break;
    append_utf8(kReplacementCharacter, out);
    ++in;
    --in_left;
  }
  return bytes.size() - in_left;
}

}  // namespace trawl
