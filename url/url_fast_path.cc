#include "url/url_fast_path.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>

#include "url/host_parser.h"
#include "url/percent_encoding.h"
#include "url/url_byte_masks_x86.h"

namespace trawl {

namespace {

constexpr std::size_t kNotThere = std::string_view::npos;

// Bytes that parsing does not change, including '%', escaped or not.
constexpr AsciiSet kNotAscii = AsciiSet().with_range(0x80, 0xFF);
constexpr AsciiSet kChangedInPath = kPathSet.with(kNotAscii).with("\\");
constexpr AsciiSet kChangedInQuery = kSpecialQuerySet.with(kNotAscii);
constexpr AsciiSet kChangedInFragment = kFragmentSet.with(kNotAscii);

constexpr std::uint64_t from(std::size_t index) {
  return index >= 64 ? 0 : ~std::uint64_t{0} << index;
}

std::size_t masked_length(std::string_view text) {
  return std::min(text.size(), UrlByteMasks::kBytes);
}

// starts_with() for a literal, without a call.
template <std::size_t kSize>
bool begins_with(std::string_view text, const char (&prefix)[kSize]) {
  return text.size() >= kSize - 1 && std::memcmp(text.data(), prefix, kSize - 1) == 0;
}

constexpr bool ends_segment(char byte) {
  return byte == '/' || byte == '?' || byte == '#';
}

// True if the path segment at the start of `text` is one or two dots, plain or escaped.
bool is_dot_segment(std::string_view text) {
  for (int dots = 0; dots < 3; ++dots) {
    if (dots > 0 && (text.empty() || ends_segment(text[0]))) return true;
    if (begins_with(text, ".")) {
      text.remove_prefix(1);
    } else if (begins_with(text, "%2e") || begins_with(text, "%2E")) {
      text.remove_prefix(3);
    } else {
      return false;
    }
  }
  return false;
}

// False if the host name text[start, end) cannot be an IPv4 address because its last label does not
// start with a digit.
inline bool may_end_in_a_number(std::string_view text, std::size_t start, std::size_t end,
                                std::uint64_t dots) {
  dots &= from(start) & ~from(end);
  const auto label = std::max(start, static_cast<std::size_t>(std::bit_width(dots)));
  return label == end || is_ascii_digit(text[label]);
}

// True for an IPv4 address in serialised form: four decimal numbers up to 255 without leading
// zeros.
bool is_serialised_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (!begins_with(text, ".")) return false;
      text.remove_prefix(1);
    }
    unsigned number = 0;
    std::size_t digits = 0;
    for (; digits < std::min<std::size_t>(text.size(), 3) && is_ascii_digit(text[digits]); ++digits)
      number = number * 10 + static_cast<unsigned>(text[digits] - '0');
    if (digits == 0 || number > 255 || (digits > 1 && text[0] == '0')) return false;
    text.remove_prefix(digits);
  }
  return text.empty();
}

// Length of the port at the start of `text`, including its ':'; 0 if it is not in serialised form:
// decimal without leading zeros, at most 65535, not the default of `scheme`.
std::size_t port_length(std::string_view text, std::string_view scheme) {
  unsigned port = 0;
  std::size_t length = 1;
  while (length < text.size() && length < 7 && is_ascii_digit(text[length])) {
    port = port * 10 + static_cast<unsigned>(text[length++] - '0');
  }
  const bool canonical = length > 1 && text[1] != '0' && port <= 65535;
  return canonical && port != (scheme == "https" ? 443u : 80u) ? length : 0;
}

// The part after the host: the offsets of '?' and '#', and whether there is a '%' before '#'.
struct Tail {
  std::size_t query = kNotThere;
  std::size_t fragment = kNotThere;
  bool has_percent = false;
};

// plain_end() from the 65th byte on. `in_segment`: the byte before is not a slash.
template <class Processor>
[[gnu::always_inline]] inline std::size_t plain_end_of_long(std::string_view text,
                                                            bool in_segment) {
  for (std::size_t offset = UrlByteMasks::kBytes; offset < text.size();
       offset += UrlByteMasks::kBytes) {
    const std::string_view rest = text.substr(offset);
    const UrlByteMasks masks = Processor::masks(rest.data(), masked_length(rest));
    const std::uint64_t starts = (masks.slash << 1) | (in_segment ? 0 : 1);
    const std::uint64_t stops = masks.special | (starts & masks.dot);
    if (stops != 0) return offset + static_cast<std::size_t>(std::countr_zero(stops));
    in_segment = masks.slash >> 63 == 0;
  }
  return text.size();
}

// Finds '?' and '#' in text[start..], a path and what follows it, while everything is plain: no
// escapes, no segment that starts with a dot. `masks` is the masks of the first 64 bytes of
// `text`. Returns the end of the plain part.
template <class Processor>
[[gnu::always_inline]] inline std::size_t scan_plain_tail(std::string_view text, std::size_t start,
                                                          const UrlByteMasks& masks, Tail& tail) {
  if (start >= UrlByteMasks::kBytes) return start;
  const std::uint64_t starts = (masks.slash << 1) | (std::uint64_t{1} << start);
  const std::uint64_t special = masks.special & from(start);
  const std::uint64_t stops = special | (starts & masks.dot & from(start));
  if (stops == 0) {
    if (text.size() <= UrlByteMasks::kBytes) return text.size();
    return plain_end_of_long<Processor>(text, masks.slash >> 63 == 0);
  }
  const auto stop = static_cast<std::size_t>(std::countr_zero(stops));
  const bool only_one = (special & ~(stops & (~stops + 1))) == 0;
  if (!only_one || text.size() > UrlByteMasks::kBytes) return stop;
  if (text[stop] == '#') {
    tail.fragment = stop;
    return text.size();
  }
  if (text[stop] == '?') {
    tail.query = stop;
    return text.size();
  }
  return stop;
}

// Examines text[i..], the rest of a path after its plain part, byte by byte. Returns false if
// parsing would change any of it. `scheme_possible`: a ':' in this segment could end a scheme.
bool scan_tail(std::string_view text, std::size_t i, bool scheme_possible, Tail& tail) {
  bool segment_start = i == 0 || text[i - 1] == '/';
  for (; i < text.size() && text[i] != '?' && text[i] != '#'; ++i) {
    if (segment_start && is_dot_segment(text.substr(i))) return false;
    if (kChangedInPath.contains(text[i])) return false;
    if (scheme_possible && text[i] == ':') return false;
    segment_start = text[i] == '/';
    scheme_possible = scheme_possible && !segment_start;
    tail.has_percent |= text[i] == '%';
  }
  if (i < text.size() && text[i] == '?') {
    tail.query = i++;
    for (; i < text.size() && text[i] != '#'; ++i) {
      if (kChangedInQuery.contains(text[i])) return false;
      tail.has_percent |= text[i] == '%';
    }
  }
  if (i == text.size()) return true;
  tail.fragment = i++;
  return std::none_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(),
                      [](char byte) { return kChangedInFragment.contains(byte); });
}

// The position in `path` after the leading segments "." and ".."; counts the ".." in `parents`.
inline std::size_t skip_dot_segments(std::string_view path, std::size_t& parents) {
  std::size_t position = 0;
  while (position < path.size() && path[position] == '.') {
    std::size_t end = position + 1;
    if (end < path.size() && path[end] == '.') ++end;
    const bool last = end == path.size();
    if (!last && !ends_segment(path[end])) break;
    parents += end - position - 1;
    position = !last && path[end] == '/' ? end + 1 : end;
  }
  return position;
}

std::size_t directory_end_of_long(std::string_view href, std::size_t root, std::size_t end,
                                  std::size_t parents) {
  assert(root < end && end <= href.size() && href[root] == '/');
  const auto behind_last_slash = [&](std::size_t limit) {
    while (href[limit - 1] != '/')
      --limit;
    return limit;
  };
  end = behind_last_slash(end);
  for (; parents > 0 && end > root + 1; --parents)
    end = behind_last_slash(end - 1);
  return end;
}

// The position after the last '/' of href[0, end), which must have one, and then `parents`
// directories up, but not above the root, whose '/' is at `root`.
template <class Processor>
[[gnu::always_inline]] inline std::size_t directory_end(const std::string& href, std::size_t root,
                                                        std::size_t end, std::size_t parents) {
  const std::size_t length = std::min(end - root, UrlByteMasks::kBytes);
  std::uint64_t slashes = Processor::masks(href.data() + end - length, length).slash;
  std::size_t left = parents;
  for (; left > 0 && (slashes & (slashes - 1)) != 0; --left)
    slashes &= ~(std::uint64_t{1} << (std::bit_width(slashes) - 1));
  if (slashes != 0 && (left == 0 || length == end - root)) {
    return end - length + static_cast<std::size_t>(std::bit_width(slashes));
  }
  // A long path: start again, slash by slash.
  return directory_end_of_long(href, root, end, parents);
}

std::uint32_t to_offset(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t offset_or_none(std::size_t value, std::size_t shift) {
  return value == kNotThere ? UINT32_MAX : to_offset(value + shift);
}

}  // namespace

template <class Processor>
inline bool UrlFastPath::parse_by_masks(std::string_view input, const Url* base,
                                        const UrlByteMasks& masks, Url& out) {
  std::string_view scheme = "https";
  std::size_t host_start = 8;
  if (!begins_with(input, "https://")) {
    if (begins_with(input, "http://")) {
      scheme = "http";
      host_start = 7;
    } else if (base == nullptr || base->href_.empty() || base->href_.size() > kMaxLength) {
      return false;
    } else if (begins_with(input, "//")) {
      scheme = base->scheme();
      host_start = 2;
    } else {
      return parse_relative<Processor>(input, *base, masks, out);
    }
  }
  return parse_authority<Processor>(scheme, input, host_start, masks, out);
}

template <class Processor>
inline bool UrlFastPath::parse_authority(std::string_view scheme, std::string_view input,
                                         std::size_t host_start, const UrlByteMasks& masks,
                                         Url& out) {
  const std::uint64_t behind_host = masks.outside_host & from(host_start);
  const auto host_end = static_cast<std::size_t>(std::countr_zero(behind_host));
  if (host_end == host_start || host_end == UrlByteMasks::kBytes) return false;
  if (may_end_in_a_number(input, host_start, host_end, masks.dot) &&
      !is_serialised_ipv4(input.substr(host_start, host_end - host_start)) &&
      is_ip_literal(input.substr(host_start, host_end - host_start))) {
    return false;
  }
  std::size_t path_start = host_end;
  bool has_path = host_end < input.size() && input[host_end] == '/';
  if (!has_path && host_end < input.size()) {
    if (input[host_end] == ':') {
      const std::size_t length = port_length(input.substr(host_end), scheme);
      if (length == 0) return false;
      path_start += length;
    }
    if (path_start < input.size() && !ends_segment(input[path_start])) return false;
    has_path = path_start < input.size() && input[path_start] == '/';
  }
  Tail tail;
  const std::size_t plain = scan_plain_tail<Processor>(input, path_start, masks, tail);
  if (plain != input.size() && !scan_tail(input, plain, false, tail)) return false;

  std::size_t shift = 0;  // from offsets in the input to offsets in href
  if (has_path && host_start != 2) {
    out.href_.assign(input);
  } else {
    out.href_.clear();
    if (host_start == 2) {
      out.href_.append(scheme).append(":");
      shift = scheme.size() + 1;
    }
    out.href_.append(input, 0, path_start);
    if (!has_path) out.href_.push_back('/');
    out.href_.append(input, path_start);
  }
  out.scheme_end_ = to_offset(scheme.size());
  out.username_end_ = out.host_start_ = to_offset(host_start + shift);
  out.host_end_ = to_offset(host_end + shift);
  out.path_start_ = to_offset(path_start + shift);
  assert(out.href_[out.path_start_] == '/');
  if (!has_path) ++shift;
  out.query_start_ = offset_or_none(tail.query, shift);
  out.fragment_start_ = offset_or_none(tail.fragment, shift);
  out.has_percent_ = tail.has_percent;
  return true;
}

template <class Processor>
inline bool UrlFastPath::parse_relative(std::string_view input, const Url& base,
                                        const UrlByteMasks& masks, Url& out) {
  const std::size_t path_end = base.path_end();
  std::size_t kept = base.query_end();
  std::size_t start = 0;  // the part of the input that is appended starts here
  bool may_have_scheme = false;
  if (input.empty() || ends_segment(input[0])) {
    if (begins_with(input, "/")) kept = base.path_start_;
    if (begins_with(input, "?")) kept = path_end;
  } else {
    std::size_t parents = 0;
    start = skip_dot_segments(input, parents);
    kept = directory_end<Processor>(base.href_, base.path_start_, path_end, parents);
    may_have_scheme = input[0] != '.';
  }
  Tail tail;
  const std::size_t plain = scan_plain_tail<Processor>(input, start, masks, tail);
  if (plain != input.size()) {
    const bool scheme_possible =
        may_have_scheme && input.substr(0, plain).find('/') == std::string_view::npos;
    if (!scan_tail(input, plain, scheme_possible, tail)) return false;
  }

  const std::size_t length = kept + input.size() - start;
  if (out.href_.capacity() < length) out.href_.reserve(length);
  out.href_.assign(base.href_, 0, kept).append(input, start);
  out.scheme_end_ = base.scheme_end_;
  out.username_end_ = base.username_end_;
  out.host_start_ = base.host_start_;
  out.host_end_ = base.host_end_;
  out.path_start_ = base.path_start_;
  out.query_start_ = kept > path_end ? base.query_start_ : offset_or_none(tail.query, kept - start);
  out.fragment_start_ = offset_or_none(tail.fragment, kept - start);
  // The part kept of the base may be without the base's '%'.
  assert(out.href_[out.path_start_] == '/');
  out.has_percent_ =
      tail.has_percent || (base.has_percent_ && out.part(0, kept).find('%') != kNotThere);
  return true;
}

bool UrlFastPath::parse_on_any(std::string_view input, const Url* base, Url& out) {
  return parse_by_masks<PortableProcessor>(
      input, base, PortableProcessor::masks(input.data(), masked_length(input)), out);
}

#if defined(__x86_64__)

bool UrlFastPath::parse_on_sse2(std::string_view input, const Url* base, Url& out) {
  return parse_by_masks<Sse2Processor>(
      input, base, Sse2Processor::masks(input.data(), masked_length(input)), out);
}

[[gnu::target(TRAWL_URL_AVX2)]] bool UrlFastPath::parse_on_avx2(std::string_view input,
                                                                const Url* base, Url& out) {
  return parse_by_masks<Avx2Processor>(
      input, base, Avx2Processor::masks(input.data(), masked_length(input)), out);
}

[[gnu::target(TRAWL_URL_AVX512)]] bool UrlFastPath::parse_on_avx512(std::string_view input,
                                                                    const Url* base, Url& out) {
  return parse_by_masks<Avx512Processor>(
      input, base, Avx512Processor::masks(input.data(), masked_length(input)), out);
}

std::span<const UrlFastPath::Implementation> UrlFastPath::implementations() {
  static constexpr std::array<Implementation, 4> kAll = {{
      {"portable", parse_on_any, PortableProcessor::masks},
      {"SSE2", parse_on_sse2, Sse2Processor::masks},
      {"AVX2", parse_on_avx2, Avx2Processor::masks},
      {"AVX-512", parse_on_avx512, Avx512Processor::masks},
  }};
  // Each implementation requires the previous one's instructions: no processor has AVX-512 without
  // AVX2.
  std::size_t running = 2;
  if (Avx2Processor::runs_here()) running += Avx512Processor::runs_here() ? 2 : 1;
  return std::span(kAll).first(running);
}

bool UrlFastPath::choose_and_parse(std::string_view input, const Url* base, Url& out) {
  const auto chosen = implementations().back().parse;
  chosen_parse.store(chosen, std::memory_order_relaxed);
  return chosen(input, base, out);
}

std::atomic<bool (*)(std::string_view, const Url*, Url&)> UrlFastPath::chosen_parse =
    choose_and_parse;

bool UrlFastPath::parse(std::string_view input, const Url* base, Url& out) {
  assert(base != &out);
  if (input.size() > kMaxLength) return false;
  return chosen_parse.load(std::memory_order_relaxed)(input, base, out);
}

#else

std::span<const UrlFastPath::Implementation> UrlFastPath::implementations() {
  static constexpr std::array<Implementation, 1> kAll = {
      {{"portable", parse_on_any, PortableProcessor::masks}}};
  return kAll;
}

bool UrlFastPath::parse(std::string_view input, const Url* base, Url& out) {
  return input.size() <= kMaxLength && parse_on_any(input, base, out);
}

#endif

}  // namespace trawl
