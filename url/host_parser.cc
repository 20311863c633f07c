#include "url/host_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <idn2.h>

#include "base/utf8.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

constexpr AsciiSet kForbiddenInDomain = kC0ControlSet.with(" #/:<>?@[\\]^|%");

void append_number(std::uint32_t value, int base, std::string& out) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

// --- IPv4: https://url.spec.whatwg.org/#concept-ipv4-parser

// Parses a part of an IPv4 address: decimal, octal with a leading 0, hexadecimal with 0x. Values
// above 32 bits give some value above 32 bits. Returns nothing if it is not a number.
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

std::string_view without_last_dot(std::string_view domain) {
  if (!domain.empty() && domain.back() == '.') domain.remove_suffix(1);
  return domain;
}

// https://url.spec.whatwg.org/#ends-in-a-number-checker
bool ends_in_a_number(std::string_view domain) {
  domain = without_last_dot(domain);
  const std::string_view last = domain.substr(domain.rfind('.') + 1);  // npos + 1 is 0
  if (last.empty() || !is_ascii_digit(last[0])) return false;
  return std::all_of(last.begin(), last.end(), is_ascii_digit) || parse_ipv4_number(last);
}

const char* parse_ipv4(std::string_view text, std::string& out) {
  constexpr const char* kNotAnAddress =
      "the host ends in a number but is not an IPv4 address (four numbers up to 255)";
  text = without_last_dot(text);
  std::uint64_t address = 0;
  for (unsigned part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    const auto number = parse_ipv4_number(text.substr(0, dot));
    if (!number) return kNotAnAddress;
    if (dot == std::string_view::npos) {
      // The last number fills the remaining bytes: 127.1 is 127.0.0.1.
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
  std::optional<std::size_t> gap;  // index of the piece after "::"
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
    if (count == pieces.size()) return std::nullopt;  // "::" replaces at least one piece
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

constexpr bool is_joiner(char32_t code_point) {
  return code_point == 0x200C || code_point == 0x200D;
}

// Characters that the two kinds of processing in UTS #46 map differently: sharp s, final sigma, the
// joiners.
constexpr bool is_deviation(char32_t code_point) {
  return code_point == 0xDF || code_point == 0x3C2 || is_joiner(code_point);
}

// The blocks of right-to-left characters.
constexpr bool is_right_to_left(char32_t code_point) {
  return (code_point >= 0x590 && code_point <= 0x8FF) ||
         (code_point >= 0xFB1D && code_point <= 0xFDFF) ||
         (code_point >= 0xFE70 && code_point <= 0xFEFC) ||
         (code_point >= 0x10800 && code_point <= 0x10FFF) ||
         (code_point >= 0x1E800 && code_point <= 0x1EFFF);
}

constexpr bool is_ascii_alphanumeric(char32_t code_point) {
  return code_point < 0x80 && (is_ascii_digit(static_cast<char>(code_point)) ||
                               is_ascii_alpha(static_cast<char>(code_point)));
}

constexpr std::size_t kMaxLabel = 63;  // RFC 1035, section 2.3.4

// Punycode: the parameters of RFC 3492, section 5.
constexpr std::uint32_t kPunycodeBase = 36;

struct PunycodeState {
  std::uint32_t bias = 72;
  bool first = true;

  std::uint32_t threshold(std::uint32_t position) const {
    return position <= bias ? 1 : std::min<std::uint32_t>(position - bias, 26);
  }
  // Section 6.1. `count` is the current number of code points.
  void adapt(std::uint32_t delta, std::uint32_t count) {
    delta /= first ? 700 : 2;
    first = false;
    delta += delta / count;
    bias = 0;
    for (; delta > 35 * 26 / 2; bias += kPunycodeBase)
      delta /= 35;
    bias += 36 * delta / (delta + 38);
  }
};

// Appends the Punycode of `label`: section 6.3. No number overflows up to kMaxLabel.
void append_punycode(std::u32string_view label, std::string& out) {
  std::uint32_t handled = 0;
  for (const char32_t code_point : label) {
    if (code_point >= 0x80) continue;
    out.push_back(static_cast<char>(code_point));
    ++handled;
  }
  if (handled > 0) out.push_back('-');
  PunycodeState state;
  std::uint32_t least = 0x80;
  std::uint32_t delta = 0;
  for (; handled < label.size(); ++delta, ++least) {
    char32_t next = 0x110000;
    for (const char32_t code_point : label) {
      if (code_point >= least) next = std::min(next, code_point);
    }
    delta += (next - least) * (handled + 1);
    least = next;
    for (const char32_t code_point : label) {
      if (code_point < least) ++delta;
      if (code_point != least) continue;
      std::uint32_t rest = delta;
      for (std::uint32_t position = kPunycodeBase;; position += kPunycodeBase) {
        const std::uint32_t threshold = state.threshold(position);
        const bool last = rest < threshold;
        const std::uint32_t digit =
            last ? rest : threshold + (rest - threshold) % (kPunycodeBase - threshold);
        out.push_back(static_cast<char>(digit < 26 ? 'a' + digit : '0' + (digit - 26)));
        if (last) break;
        rest = (rest - threshold) / (kPunycodeBase - threshold);
      }
      state.adapt(delta, ++handled);
      delta = 0;
    }
  }
}

// Decodes `text`, lower-case Punycode: section 6.2. Returns nothing if it is invalid.
std::optional<std::u32string> from_punycode(std::string_view text) {
  std::u32string label;
  if (const std::size_t dash = text.rfind('-'); dash != std::string_view::npos) {
    label.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dash));
    text.remove_prefix(dash + 1);
  }
  PunycodeState state;
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 31;
  std::uint64_t code_point = 0x80;
  std::uint64_t index = 0;
  while (!text.empty()) {
    const std::uint64_t before = index;
    std::uint64_t weight = 1;
    for (std::uint32_t position = kPunycodeBase;; position += kPunycodeBase) {
      if (text.empty()) return std::nullopt;
      const char byte = text[0];
      text.remove_prefix(1);
      if (!is_ascii_digit(byte) && !is_ascii_alpha(byte)) return std::nullopt;
      const auto digit =
          static_cast<std::uint32_t>(is_ascii_digit(byte) ? byte - '0' + 26 : (byte | 0x20) - 'a');
      index += digit * weight;
      if (index >= kTooLarge) return std::nullopt;
      const std::uint32_t threshold = state.threshold(position);
      if (digit < threshold) break;
      weight *= kPunycodeBase - threshold;
      if (weight >= kTooLarge) return std::nullopt;
    }
    const std::uint64_t count = label.size() + 1;
    state.adapt(static_cast<std::uint32_t>(index - before), static_cast<std::uint32_t>(count));
    code_point += index / count;
    index %= count;
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (code_point > 0x10FFFF || surrogate) return std::nullopt;
    label.insert(static_cast<std::size_t>(index++), 1, static_cast<char32_t>(code_point));
  }
  return label;
}

int lookup(const std::string& label, int flags, std::string& out) {
  std::uint8_t* result = nullptr;
  const int error = idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(label.c_str()), &result,
                                   IDN2_NFC_INPUT | flags);
  if (error == IDN2_OK) {
    out.append(reinterpret_cast<const char*>(result));
    idn2_free(result);
  }
  return error;
}

// Appends the UTS #46 mapping of `run`, a piece of a label without deviation characters, whose
// ASCII characters are letters and digits. Its first character may be a combining mark unless it
// `starts` the label. libidn2 returns its mapping only as an A-label, and checks IDNA2008's list of
// code points except in transitional processing, which is equivalent without deviation characters.
bool append_mapped_run(const std::string& run, bool starts, std::u32string& out) {
  if (run.empty()) return true;
  // A leading digit, since no mark composes with a digit.
  std::string encoded;
  if (lookup(starts ? run : "0" + run, IDN2_TRANSITIONAL | IDN2_NO_ALABEL_ROUNDTRIP, encoded) !=
      IDN2_OK) {
    return false;
  }
  std::optional<std::u32string> mapped(std::in_place, encoded.begin(), encoded.end());
  if (encoded.starts_with("xn--")) mapped = from_punycode(std::string_view(encoded).substr(4));
  if (!mapped) return false;
  out.append(*mapped, starts ? 0 : 1);
  return true;
}

// The UTS #46 mapping of `label` without transitional processing, in normal form C. Characters that
// libidn2 refuses or maps differently are inserted between the runs that it maps. None of them
// composes with the character before it, and only '=' composes with the next one, so the runs can
// be normalised one by one.
std::optional<std::u32string> mapped_label(std::string_view label) {
  std::u32string mapped;
  std::string run;
  bool starts = true;
  for (std::size_t i = 0; i < label.size();) {
    const char32_t code_point = decode_utf8(label, i);
    if (!is_deviation(code_point) && (code_point >= 0x80 || is_ascii_alphanumeric(code_point))) {
      append_utf8(code_point, run);
      continue;
    }
    if (!append_mapped_run(run, starts, mapped)) return std::nullopt;
    run.clear();
    mapped.push_back(code_point);
    starts = false;
  }
  if (!append_mapped_run(run, starts, mapped)) return std::nullopt;
  for (std::size_t i = 0; (i = mapped.find(U"=\u0338", i)) != std::u32string::npos;) {
    mapped[i] = 0x2260;
    mapped.erase(i + 1, 1);
  }
  return mapped;
}

// True if each joiner in `label` is in a permitted context (RFC 5892, appendices A.1 and A.2).
// Characters that libidn2 would refuse for other reasons are replaced by a letter that does not
// join either.
bool joiners_are_valid(std::u32string_view label) {
  if (std::none_of(label.begin(), label.end(), is_joiner)) return true;
  std::string plain;
  std::string unused;
  for (const char32_t code_point : label) {
    std::string alone;
    append_utf8(code_point, alone);
    bool shown = is_joiner(code_point) || is_ascii_alphanumeric(code_point);
    if (code_point >= 0x80 && !shown) {
      const int error = lookup(alone, IDN2_NONTRANSITIONAL, unused);
      shown = error == IDN2_OK || error == IDN2_LEADING_COMBINING;
    }
    plain += shown ? alone : "a";
  }
  return lookup(plain, IDN2_NONTRANSITIONAL, unused) == IDN2_OK;
}

bool append_checked_a_label(const std::string& label, std::string& out);

// Appends the ASCII form of a mapped label.
bool append_mapped_label(std::u32string_view label, std::string& out) {
  const bool reserved = label.starts_with(U"xn--");
  const auto is_basic = [](char32_t code_point) { return code_point < 0x80; };
  if (std::all_of(label.begin(), label.end(), is_basic)) {
    const std::string ascii(label.begin(), label.end());
    if (reserved) return append_checked_a_label(ascii, out);
    out.append(ascii);
    return true;
  }
  if (reserved || label.size() > kMaxLabel) return false;
  const std::size_t start = out.size();
  out.append("xn--");
  append_punycode(label, out);
  return out.size() - start <= kMaxLabel;
}

// Appends the ASCII form of `label`, which has a non-ASCII character.
//
// libidn2 applies IDNA2008's list of code points in addition to the rules of browsers (UTS #46), so
// it refuses emoji, other symbols, recent letters and ASCII punctuation; and it refuses some
// hyphens that browsers accept. Such labels are mapped by libidn2 in pieces and encoded here. The
// Bidi rule is not checked for them; it does not apply to labels without right-to-left characters.
bool append_a_label(const std::string& label, std::string& out) {
  switch (lookup(label, IDN2_NONTRANSITIONAL, out)) {
    case IDN2_OK:
      return true;
    case IDN2_DISALLOWED:
    case IDN2_UNASSIGNED:
    case IDN2_CONTEXTO:
    case IDN2_CONTEXTO_NO_RULE:
    case IDN2_2HYPHEN:
    case IDN2_HYPHEN_STARTEND:
    case IDN2_ALABEL_ROUNDTRIP_FAILED:
      break;
    default:
      return false;
  }
  const auto mapped = mapped_label(label);
  if (!mapped || mapped->find(U'.') != std::u32string::npos ||
      std::any_of(mapped->begin(), mapped->end(), is_right_to_left)) {
    return false;
  }
  return joiners_are_valid(*mapped) && append_mapped_label(*mapped, out);
}

// Appends `label`, which starts with xn--, if decoding and encoding it gives the same label.
bool append_checked_a_label(const std::string& label, std::string& out) {
  const auto decoded = from_punycode(std::string_view(label).substr(4));
  if (!decoded) return false;
  std::string unicode;
  for (const char32_t code_point : *decoded)
    append_utf8(code_point, unicode);
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

// The standard's "domain to ASCII" for a domain with non-ASCII characters, label by label. Stricter
// than the standard where libidn2 is: refuses non-ASCII labels over 63 bytes and right-to-left
// labels with symbols. Laxer: the Bidi rule examines each label alone.
const char* domain_to_ascii(std::string_view domain, std::string& out) {
  constexpr const char* kInvalid = "the host name is not a valid internationalised domain name";
  // IDNA is the slow part of parsing, and no name in the DNS is over 253 bytes.
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
    if (code_point == 0x1E9E)
      code_point = 0xDF;  // capital sharp s: libidn2's table maps it to
                          // "ss"
    // Map full-width ASCII and the small hyphen here, so that libidn2 gets no punctuation.
    if (code_point >= 0xFF01 && code_point <= 0xFF5E) code_point -= 0xFF01 - U'!';
    if (code_point == 0xFE63) code_point = '-';
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
  // An all-ASCII domain is never refused for its A-labels, since many invalid ones are in use.
  if (!ascii) {
    out.resize(start);
    if (const char* error = domain_to_ascii(domain, out)) return error;
  }
  const std::string_view ascii_domain = std::string_view(out).substr(start);
  if (ascii_domain.empty()) return "the host name is empty";
  for (const char byte : ascii_domain) {
    if (kForbiddenInDomain.contains(byte)) return "the host name has a forbidden character";
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
    if (!pieces) return "the text in brackets is not an IPv6 address";
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
