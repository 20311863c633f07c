#include "frontier/host_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <idn2.h>

#include "frontier/percent_encoding.h"

namespace trawl {

namespace {

constexpr AsciiSet kForbiddenInDomain = kC0ControlSet.with(" #/:<>?@[\\]^|%");

void append_number(std::uint32_t value, int base, std::string& out) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

// --- IPv4: https://url.spec.whatwg.org/#concept-ipv4-parser

// A part of an IPv4 address: decimal, octal with a leading 0, hexadecimal with 0x. Values beyond
// 32 bits come out as some value beyond 32 bits. Nothing if it is no number.
std::optional<std::uint64_t> parse_ipv4_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned base = 10;
  if (text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.remove_prefix(2);
    base = 16;
  } else if (text.size() >= 2 && text[0] == '0') {
    text.remove_prefix(1);
    base = 8;
  }
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 32;
  std::uint64_t value = 0;
  for (const char byte : text) {
    const int digit = hex_value(byte);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
    value = std::min(value * base + static_cast<unsigned>(digit), kTooLarge);
  }
  return value;
}

std::string_view without_trailing_dot(std::string_view domain) {
  if (!domain.empty() && domain.back() == '.') domain.remove_suffix(1);
  return domain;
}

// https://url.spec.whatwg.org/#ends-in-a-number-checker
bool ends_in_a_number(std::string_view domain) {
  domain = without_trailing_dot(domain);
  const std::string_view last = domain.substr(domain.rfind('.') + 1);  // npos + 1 is 0
  if (last.empty() || !is_ascii_digit(last[0])) return false;
  return std::all_of(last.begin(), last.end(), is_ascii_digit) || parse_ipv4_number(last);
}

const char* parse_ipv4(std::string_view text, std::string& out) {
  constexpr const char* kNotAnAddress =
      "the host ends in a number but is no IPv4 address (four numbers up to 255)";
  text = without_trailing_dot(text);
  std::uint64_t address = 0;
  for (unsigned part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    const auto number = parse_ipv4_number(text.substr(0, dot));
    if (!number) return kNotAnAddress;
    if (dot == std::string_view::npos) {
      // The last number fills all bytes that are left: 127.1 is 127.0.0.1.
      const unsigned bits_left = 8 * (4 - part);
      if (*number >> bits_left != 0) return kNotAnAddress;
      address = (address << bits_left) | *number;
      for (int shift = 24; shift >= 0; shift -= 8) {
        append_number((address >> shift) & 0xFF, 10, out);
        if (shift != 0) out.push_back('.');
      }
      return nullptr;
    }
    if (*number > 255) return kNotAnAddress;
    address = (address << 8) | *number;
    text.remove_prefix(dot + 1);
  }
  return kNotAnAddress;
}

// --- IPv6: https://url.spec.whatwg.org/#concept-ipv6-parser

using Ipv6Pieces = std::array<std::uint16_t, 8>;

// The four decimal numbers at the end of an IPv6 address; no octal, no hexadecimal, no 0-prefix.
std::optional<std::uint32_t> parse_embedded_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text[0] != '.') return std::nullopt;
      text.remove_prefix(1);
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || value > 255 || (length > 1 && text[0] == '0')) return std::nullopt;
    address = (address << 8) | value;
    text.remove_prefix(length);
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

std::optional<Ipv6Pieces> parse_ipv6_pieces(std::string_view text) {
  Ipv6Pieces pieces{};
  std::size_t count = 0;
  std::optional<std::size_t> gap;  // index of the piece that "::" stands before
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  } else if (text.starts_with(":")) {
    return std::nullopt;
  }
  while (!text.empty()) {
    if (count == pieces.size()) return std::nullopt;
    if (text[0] == ':') {
      if (gap) return std::nullopt;
      gap = count;
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    std::size_t length = 0;
    while (length < 4 && length < text.size() && hex_value(text[length]) >= 0) {
      value = value * 16 + static_cast<unsigned>(hex_value(text[length++]));
    }
    if (length < text.size() && text[length] == '.') {
      const auto address = parse_embedded_ipv4(text);
      if (!address || count > pieces.size() - 2) return std::nullopt;
      pieces[count++] = static_cast<std::uint16_t>(*address >> 16);
      pieces[count++] = static_cast<std::uint16_t>(*address & 0xFFFF);
      break;
    }
    if (length == 0) return std::nullopt;
    pieces[count++] = static_cast<std::uint16_t>(value);
    text.remove_prefix(length);
    if (text.empty()) break;
    if (text[0] != ':' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  if (gap) {
    if (count == pieces.size()) return std::nullopt;  // "::" stands for one piece at least
    std::rotate(pieces.begin() + static_cast<std::ptrdiff_t>(*gap),
                pieces.begin() + static_cast<std::ptrdiff_t>(count), pieces.end());
  } else if (count != pieces.size()) {
    return std::nullopt;
  }
  return pieces;
}

// https://url.spec.whatwg.org/#concept-ipv6-serializer
void append_ipv6(const Ipv6Pieces& pieces, std::string& out) {
  std::size_t zeros_start = 0;  // the first longest run of zeros; runs of one are not compressed
  std::size_t zeros_length = 1;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::size_t end = i;
    while (end < pieces.size() && pieces[end] == 0)
      ++end;
    if (end - i > zeros_length) {
      zeros_start = i;
      zeros_length = end - i;
    }
  }
  out.push_back('[');
  for (std::size_t i = 0; i < pieces.size();) {
    if (zeros_length > 1 && i == zeros_start) {
      out.append(i == 0 ? "::" : ":");
      i += zeros_length;
      continue;
    }
    append_number(pieces[i], 16, out);
    if (++i < pieces.size()) out.push_back(':');
  }
  out.push_back(']');
}

// --- Domains: https://url.spec.whatwg.org/#idna

constexpr bool is_label_separator(char32_t code_point) {
  return code_point == '.' || code_point == 0x3002 || code_point == 0xFF0E || code_point == 0xFF61;
}

// What UTS #46's two ways of processing map differently: sharp s, final sigma, the joiners.
constexpr bool is_deviation(char32_t code_point) {
  return code_point == 0xDF || code_point == 0x3C2 || code_point == 0x200C || code_point == 0x200D;
}

// The blocks whose characters run from right to left.
constexpr bool is_right_to_left(char32_t code_point) {
  return (code_point >= 0x590 && code_point <= 0x8FF) ||
         (code_point >= 0xFB1D && code_point <= 0xFDFF) ||
         (code_point >= 0xFE70 && code_point <= 0xFEFC) ||
         (code_point >= 0x10800 && code_point <= 0x10FFF) ||
         (code_point >= 0x1E800 && code_point <= 0x1EFFF);
}

int lookup(const std::string& label, int processing, std::string& out) {
  std::uint8_t* result = nullptr;
  const int error = idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(label.c_str()), &result,
                                   IDN2_NFC_INPUT | processing);
  if (error == IDN2_OK) {
    out.append(reinterpret_cast<const char*>(result));
    idn2_free(result);
  }
  return error;
}

// True if `label` has none of the characters for which transitional processing would give another
// name or skip a check.
bool may_retry(std::string_view label) {
  for (std::size_t i = 0; i < label.size();) {
    const char32_t code_point = decode_utf8(label, i);
    if (is_deviation(code_point) || is_right_to_left(code_point)) return false;
  }
  return true;
}

// Appends the ASCII form of `label`, which has a non-ASCII character.
//
// libidn2 applies IDNA2008's list of code points on top of the rules that browsers apply (UTS #46),
// and so refuses emoji, other symbols and recent letters. Its transitional processing goes without
// that list. For labels without deviation characters both map alike, and for those without
// right-to-left characters the check it also lacks, the Bidi rule, holds by itself.
bool append_a_label(const std::string& label, std::string& out) {
  switch (lookup(label, IDN2_NONTRANSITIONAL, out)) {
    case IDN2_OK:
      return true;
    case IDN2_DISALLOWED:
    case IDN2_UNASSIGNED:
    case IDN2_CONTEXTO:
    case IDN2_CONTEXTO_NO_RULE:
      return may_retry(label) && lookup(label, IDN2_TRANSITIONAL, out) == IDN2_OK;
    default:
      return false;
  }
}

// Appends `label`, which starts with xn--, if it is what its own decoding is encoded as.
bool append_checked_a_label(const std::string& label, std::string& out) {
  char* decoded = nullptr;
  if (idn2_to_unicode_8z8z(label.c_str(), &decoded, 0) != IDN2_OK) return false;
  const std::string unicode = decoded;
  idn2_free(decoded);
  const std::size_t start = out.size();
  return append_a_label(unicode, out) && std::string_view(out).substr(start) == label;
}

bool append_label(const std::string& label, bool ascii, std::string& out) {
  if (label.empty()) return true;
  if (!ascii) return append_a_label(label, out);
  if (label.starts_with("xn--")) return append_checked_a_label(label, out);
  out.append(label);
  return true;
}

// The standard's "domain to ASCII" for a domain with non-ASCII characters, label by label.
// Stricter than the standard, where libidn2 is: labels over 63 bytes, and non-ASCII labels with
// hyphens at either end or in the third and fourth place, are refused, as are right-to-left labels
// with symbols. Laxer: the Bidi rule looks at each label alone.
const char* domain_to_ascii(std::string_view domain, std::string& out) {
  constexpr const char* kInvalid = "the host name is no valid internationalised domain name";
  // IDNA is the slow part of parsing, and DNS carries no name over 253 bytes.
  constexpr std::size_t kMaxDomain = 4096;
  if (domain.size() > kMaxDomain) return "the internationalised host name is too long";
  std::string label;
  bool ascii = true;
  for (std::size_t i = 0; i < domain.size();) {
    char32_t code_point = decode_utf8(domain, i);
    if (code_point == 0 || code_point == kReplacementCharacter) return kInvalid;
    if (is_label_separator(code_point)) {
      if (!append_label(label, ascii, out)) return kInvalid;
      out.push_back('.');
      label.clear();
      ascii = true;
      continue;
    }
    if (code_point == 0x1E9E) code_point = 0xDF;  // capital sharp s: libidn2's table says "ss"
    if (code_point < 0x80) {
      label.push_back(ascii_lower(static_cast<char>(code_point)));
    } else {
      ascii = false;
      append_utf8(code_point, label);
    }
  }
  return append_label(label, ascii, out) ? nullptr : kInvalid;
}

const char* parse_domain(std::string_view domain, std::string& out) {
  const std::size_t start = out.size();
  bool ascii = true;
  out.append(domain);
  for (std::size_t i = start; i < out.size(); ++i) {
    ascii = ascii && is_ascii(out[i]);
    out[i] = ascii_lower(out[i]);
  }
  // An all-ASCII domain is never refused for its A-labels: too many bad ones are in use.
  if (!ascii) {
    out.resize(start);
    if (const char* error = domain_to_ascii(domain, out)) return error;
  }
  const std::string_view ascii_domain = std::string_view(out).substr(start);
  if (ascii_domain.empty()) return "the host name is empty";
  for (const char byte : ascii_domain) {
    if (kForbiddenInDomain.contains(byte)) return "the host name has a character it must not have";
  }
  if (!ends_in_a_number(ascii_domain)) return nullptr;
  const std::string address(ascii_domain);
  out.resize(start);
  return parse_ipv4(address, out);
}

}  // namespace

const char* parse_host(std::string_view text, std::string& out) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return "the IPv6 address lacks its closing bracket";
    const auto pieces = parse_ipv6_pieces(text.substr(1, text.size() - 2));
    if (!pieces) return "the text in brackets is no IPv6 address";
    append_ipv6(*pieces, out);
    return nullptr;
  }
  if (text.find('%') == std::string_view::npos) return parse_domain(text, out);
  return parse_domain(percent_decode(text), out);
}

bool is_ip_literal(std::string_view hostname) {
  return hostname.starts_with('[') || ends_in_a_number(hostname);
}

}  // namespace trawl
