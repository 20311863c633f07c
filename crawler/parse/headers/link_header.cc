// Parses the Link header (RFC 8288 section 3) with the algorithm of its appendix B.2.
#include "trawl/link_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "base/utf8_validation.h"
#include "url/percent_encoding.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxLinks = 1000;
constexpr std::size_t kMaxDroppedText = 2048;
// Limit of link-values examined: the cost of each grows with the length of the base URL.
constexpr std::size_t kMaxValues = 10'000;

constexpr AsciiSet kOptionalSpace = AsciiSet().with(" \t");

std::string from_latin1(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char byte : text)
    append_utf8(static_cast<unsigned char>(byte), out);
  return out;
}

// Header bytes as UTF-8. Invalid UTF-8 is taken for ISO-8859-1, the former encoding of headers.
std::string to_utf8(std::string text) {
  return is_utf8(text) ? text : from_latin1(text);
}

// Decodes the percent-escapes of an RFC 8187 ext-value; nothing if an escape is cut or invalid.
std::optional<std::string> strict_percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
    } else if (escape_length(text, i) == 0) {
      return std::nullopt;
    } else {
      out.push_back(escaped_byte(text, i));
      i += 2;
    }
  }
  return out;
}

// Decodes RFC 8187's charset'language'value; nothing if it is invalid, and the parameter is then
// ignored.
std::optional<std::string> decode_extended(std::string_view value) {
  const std::size_t charset_end = value.find('\'');
  if (charset_end == std::string_view::npos) return std::nullopt;
  const std::size_t language_end = value.find('\'', charset_end + 1);
  if (language_end == std::string_view::npos) return std::nullopt;
  const std::string_view charset = value.substr(0, charset_end);
  auto bytes = strict_percent_decode(value.substr(language_end + 1));
  if (!bytes) return std::nullopt;
  if (equal_in_any_case(charset, "utf-8") && is_utf8(*bytes)) return bytes;
  if (equal_in_any_case(charset, "iso-8859-1")) return from_latin1(*bytes);
  return std::nullopt;
}

// The parameters that are used; if one is repeated, the first is used.
enum class Parameter : std::uint8_t {
  kRel,
  kAnchor,
  kType,
  kHreflang,
  kTitle,
  kExtendedTitle,
  kImagesrcset
};
constexpr std::array<std::string_view, 7> kParameterNames = {
    "rel", "anchor", "type", "hreflang", "title", "title*", "imagesrcset"};

class Parameters {
 public:
  void add(std::string_view name, std::string value) {
    const auto known = std::ranges::find_if(
        kParameterNames, [&](std::string_view wanted) { return equal_in_any_case(name, wanted); });
    if (known == kParameterNames.end()) return;
    auto& first = values_[static_cast<std::size_t>(known - kParameterNames.begin())];
    if (!first) first = std::move(value);
  }
  const std::optional<std::string>& operator[](Parameter which) const {
    return values_[static_cast<std::size_t>(which)];
  }
  std::string text(Parameter which) const { return to_utf8((*this)[which].value_or("")); }

 private:
  std::array<std::optional<std::string>, kParameterNames.size()> values_;
};

// Reads a header value from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  void skip_space() { skip_white_space(rest_, kOptionalSpace); }
  bool take(char expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Takes the part before the first byte of `stops`, or all.
  std::string_view take_until(std::string_view stops) {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // After an opening quote, takes the text up to the closing one or the end.
  std::string take_quoted() {
    std::string out;
    while (!rest_.empty()) {
      out += take_until("\"\\");
      if (take('"') || !take('\\') || rest_.empty()) break;
      out.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    return out;
  }
  // Skips to after the next comma outside <> and quotes.
  void skip_value() {
    while (!rest_.empty()) {
      take_until(",<\"");
      if (take(',')) return;
      if (take('<')) take_until(">");
      if (take('"')) take_quoted();
    }
  }

 private:
  std::string_view rest_;
};

// Reads the parameters after a link's ">".
Parameters read_parameters(Reader& in) {
  Parameters parameters;
  for (in.skip_space(); in.take(';'); in.skip_space()) {
    in.skip_space();
    const std::string_view name = in.take_until(" \t=;,");
    in.skip_space();
    std::string value;
    if (in.take('=')) {
      in.skip_space();
      if (in.take('"')) {
        value = in.take_quoted();
      } else {
        value = trim_end(in.take_until(";,"), kOptionalSpace);
      }
    }
    parameters.add(name, std::move(value));
  }
  return parameters;
}

std::string relations(std::string_view rel) {
  std::string out;
  for (auto type = next_token(rel); !type.empty(); type = next_token(rel)) {
    if (!out.empty()) out.push_back(' ');
    out += type;
  }
  return to_lower(to_utf8(std::move(out)));
}

// Returns false if the link's context (anchor) is not `base`.
bool is_from(const Parameters& parameters, const Url& base) {
  const auto& anchor = parameters[Parameter::kAnchor];
  if (!anchor) return true;
  const auto context = Url::parse(*anchor, &base);
  return context && context->href_without_fragment() == base.href_without_fragment();
}

HeaderLink make_link(Url url, const Parameters& parameters) {
  auto title = decode_extended(parameters[Parameter::kExtendedTitle].value_or(""));
  return HeaderLink{.url = std::move(url),
                    .rel = relations(parameters[Parameter::kRel].value_or("")),
                    .type = parameters.text(Parameter::kType),
                    .hreflang = parameters.text(Parameter::kHreflang),
                    .title = title ? std::move(*title) : parameters.text(Parameter::kTitle),
                    .imagesrcset = parameters.text(Parameter::kImagesrcset)};
}

}  // namespace

bool HeaderLink::has_rel(std::string_view relation) const noexcept {
  std::string_view rest = rel;
  for (auto type = next_token(rest); !type.empty(); type = next_token(rest))
    if (type == relation) return true;
  return false;
}

std::vector<HeaderLink> parse_link_header(std::string_view value, const Url& base,
                                          std::vector<DroppedHeaderLink>* dropped) {
  std::vector<HeaderLink> links;
  Reader in(value);
  for (std::size_t seen = 0; !in.at_end() && seen < kMaxValues && links.size() < kMaxLinks;) {
    in.skip_space();
    if (in.take('<')) {
      const std::string_view target = in.take_until(">");
      if (!in.take('>')) break;
      ++seen;
      const Parameters parameters = read_parameters(in);
      if (is_from(parameters, base)) {
        if (auto url = Url::parse(target, &base)) {
          links.push_back(make_link(std::move(*url), parameters));
        } else if (dropped != nullptr && dropped->size() < kMaxLinks) {
          dropped->push_back({.link = make_link(Url(), parameters),
                              .text = std::string(target.substr(0, kMaxDroppedText)),
                              .other_scheme = url.error().code == ErrorCode::kUnsupportedScheme});
        }
      }
    }
    in.skip_value();
  }
  return links;
}

}  // namespace trawl
