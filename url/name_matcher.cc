#include "url/name_matcher.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "url/percent_encoding.h"

namespace trawl {

namespace {

constexpr std::array<std::string_view, 54> kParameters = {"__hsfp",
                                                          "__hssc",
                                                          "__hstc",
                                                          "_ga",
                                                          "_gl",
                                                          "_hsenc",
                                                          "_hsmi",
                                                          "_openstat",
                                                          "dclid",
                                                          "epik",
                                                          "fbclid",
                                                          "gad_campaignid",
                                                          "gad_source",
                                                          "gbraid",
                                                          "gclid",
                                                          "gclsrc",
                                                          "hsa_*",
                                                          "hsctatracking",
                                                          "igsh",
                                                          "igshid",
                                                          "irclickid",
                                                          "irgwc",
                                                          "li_fat_id",
                                                          "matomo_*",
                                                          "mc_cid",
                                                          "mc_eid",
                                                          "mkt_tok",
                                                          "ml_subscriber",
                                                          "ml_subscriber_hash",
                                                          "msclkid",
                                                          "mtm_*",
                                                          "oly_anon_id",
                                                          "oly_enc_id",
                                                          "piwik_*",
                                                          "pk_campaign",
                                                          "pk_content",
                                                          "pk_cpn",
                                                          "pk_keyword",
                                                          "pk_kwd",
                                                          "pk_medium",
                                                          "pk_source",
                                                          "rb_clickid",
                                                          "s_cid",
                                                          "s_kwcid",
                                                          "srsltid",
                                                          "ttclid",
                                                          "twclid",
                                                          "utm_*",
                                                          "vero_conv",
                                                          "vero_id",
                                                          "wbraid",
                                                          "wickedid",
                                                          "yclid",
                                                          "ysclid"};

constexpr std::array<std::string_view, 13> kSessionIds = {"asp.net_sessionid",
                                                          "aspsessionid*",
                                                          "cfid",
                                                          "cftoken",
                                                          "jsessionid",
                                                          "oscsid",
                                                          "phpsessid",
                                                          "sessid",
                                                          "session_id",
                                                          "sessionid",
                                                          "sid",
                                                          "xtcsid",
                                                          "zenid"};

constexpr std::array<std::string_view, 15> kIndexNames = {
    "default.asp", "default.aspx", "default.htm", "default.html", "index.asp",
    "index.aspx",  "index.cfm",    "index.cgi",   "index.htm",    "index.html",
    "index.jsp",   "index.php",    "index.pl",    "index.shtml",  "index.xhtml"};

constexpr AsciiSet kPlain = AsciiSet().with_range('a', 'z').with_range('0', '9').with("-._~[]");

// Reads the bytes of a text one by one, with decoded escapes and lower-case ASCII letters.
class FoldedBytes {
 public:
  explicit FoldedBytes(std::string_view text) : text_(text) {}
  bool done() const { return position_ == text_.size(); }
  char next() {
    if (escape_length(text_, position_) == 0) return ascii_lower(text_[position_++]);
    const char byte = escaped_byte(text_, position_);
    position_ += 3;
    return ascii_lower(byte);
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

std::string folded(std::string_view text) {
  std::string out;
  for (FoldedBytes bytes(text); !bytes.done();)
    out.push_back(bytes.next());
  return out;
}

tl::unexpected<Error> wrong_name(std::string_view name, std::string_view why) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("\"{}\" is not a valid name: {}", name.substr(0, 80), why));
}

}  // namespace

std::span<const std::string_view> default_names(Rule rule) {
  switch (rule) {
    case Rule::kDropParameters:
      return kParameters;
    case Rule::kDropSessionIds:
      return kSessionIds;
    case Rule::kDropIndex:
      return kIndexNames;
    default:
      return {};
  }
}

Result<std::string> normal_name(std::string_view name) {
  if (name.empty()) return wrong_name(name, "it is empty");
  const bool any_ending = name.back() == '*';
  const std::string_view text = name.substr(0, name.size() - (any_ending ? 1 : 0));
  if (text.find('*') != std::string_view::npos) {
    return wrong_name(name, "'*' may only be the last character; write an asterisk as %2A");
  }
  const std::string bytes = folded(text);
  if (bytes.size() > kMaxNameBytes) {
    return wrong_name(name, fmt::format("it is longer than {} bytes", kMaxNameBytes));
  }
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (kPlain.contains(bytes[i]) && !(i == 0 && bytes[i] == '-')) {
      out.push_back(bytes[i]);
    } else {
      append_escape(bytes[i], out);
    }
  }
  if (any_ending) out.push_back('*');
  return out;
}

std::vector<std::string> normal_names(const std::optional<std::vector<std::string>>& names,
                                      Rule rule) {
  if (!names) {
    const auto defaults = default_names(rule);
    return {defaults.begin(), defaults.end()};
  }
  std::vector<std::string> out;
  for (const std::string& name : *names) {
    if (auto normal = normal_name(name)) out.push_back(*std::move(normal));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

NameMatcher::NameMatcher(std::span<const std::string> normal_names) {
  for (const std::string_view name : normal_names) {
    assert(normal_name(name) == std::string(name));  // in its one spelling
    const bool any_ending = name.back() == '*';
    std::string bytes = folded(name.substr(0, name.size() - (any_ending ? 1 : 0)));
    if (bytes.empty()) {
      all_ = true;
      continue;
    }
    starts_[static_cast<unsigned char>(bytes[0])] = true;
    (any_ending ? prefixes_ : exact_).push_back(std::move(bytes));
  }
  std::sort(exact_.begin(), exact_.end());
}

bool NameMatcher::matches(std::string_view text) const {
  if (all_) return true;
  if (text.empty()) return false;
  FoldedBytes bytes(text);
  std::array<char, kMaxNameBytes + 1> buffer;  // one more byte, to detect a text longer than any
                                               // name
  buffer[0] = bytes.next();
  if (!starts_[static_cast<unsigned char>(buffer[0])]) return false;
  std::size_t size = 1;
  while (size < buffer.size() && !bytes.done())
    buffer[size++] = bytes.next();
  const std::string_view name(buffer.data(), size);
  if (std::binary_search(exact_.begin(), exact_.end(), name, std::less<std::string_view>{}))
    return true;
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace trawl
