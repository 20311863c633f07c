// Any bytes as a URL: the first line is a base, the rest a reference (one line: no base). What is
// accepted must survive being serialised and parsed again, and so must its canonical keys; and the
// fast path must agree with the full one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "url/registrable_domain.h"
#include "url/url_fast_path.h"
#include "url/url_parser.h"

namespace {

void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

bool same_parts(const trawl::Url& a, const trawl::Url& b) {
  return a.href() == b.href() && a.scheme() == b.scheme() && a.username() == b.username() &&
         a.password() == b.password() && a.hostname() == b.hostname() && a.host() == b.host() &&
         a.port() == b.port() && a.effective_port() == b.effective_port() &&
         a.origin() == b.origin() && a.path() == b.path() && a.query() == b.query() &&
         a.fragment() == b.fragment() && a.has_query() == b.has_query() &&
         a.has_fragment() == b.has_fragment() && a.host_is_ip() == b.host_is_ip() &&
         a.href_without_fragment() == b.href_without_fragment();
}

trawl::Canonicalizer with_all_rules() {
  trawl::Profile profile;
  for (const trawl::RuleInfo& info : trawl::rule_infos()) {
    if (info.enabled != nullptr) profile.rules.*info.enabled = true;
  }
  return trawl::Canonicalizer(std::move(profile));
}

// The profiles a byte chooses from: each pair of rules, a rule and itself included, the names as by
// default or all there are.
std::vector<trawl::Canonicalizer> all_choices() {
  std::vector<bool trawl::CanonicalRules::*> rules;
  for (const trawl::RuleInfo& info : trawl::rule_infos()) {
    if (info.enabled != nullptr) rules.push_back(info.enabled);
  }
  std::vector<trawl::Canonicalizer> choices;
  for (const auto& names : {std::vector<std::string>(), std::vector<std::string>{"*"}}) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      for (std::size_t j = i; j < rules.size(); ++j) {
        trawl::Profile profile;
        profile.rules.*rules[i] = true;
        profile.rules.*rules[j] = true;
        if (!names.empty()) {
          profile.rules.parameter_names = names;
          profile.rules.session_id_names = names;
          profile.rules.index_names = names;
        }
        choices.emplace_back(std::move(profile));
      }
    }
  }
  return choices;
}

const trawl::Canonicalizer& choice(std::uint8_t byte) {
  static const std::vector<trawl::Canonicalizer> choices = all_choices();
  return choices[byte % choices.size()];
}

void check_key(const trawl::Canonicalizer& canonical, const trawl::Url& url) {
  const std::string key = canonical.key(url);
  const auto key_url = trawl::Url::parse(key);
  require(key_url && key_url->href() == key, "the key is not a serialised URL", key);
  require(canonical.key(*key_url) == key, "the key's key is another", key);
}

void check(const trawl::Url& url, const trawl::Canonicalizer& chosen) {
  const auto again = trawl::Url::parse(url.href());
  require(again && same_parts(*again, url), "parsed again it is another URL", url.href());
  require(!url.hostname().empty(), "no host", url.href());
  require(url.path().starts_with('/'), "no path", url.href());

  static const trawl::Canonicalizer lossless;
  static const trawl::Canonicalizer all_rules = with_all_rules();
  check_key(lossless, url);
  check_key(all_rules, url);
  check_key(chosen, url);

  const std::string_view domain = trawl::registrable_domain(url.hostname());
  require(!domain.empty() && url.hostname().find(domain) != std::string_view::npos,
          "the registrable domain is not a part of the host", url.href());
  require(!trawl::politeness_group(url).empty(), "no politeness group", url.href());
}

void parse_and_check(std::string_view input, const trawl::Url* base,
                     const trawl::Canonicalizer& chosen) {
  const auto full = trawl::UrlParser::parse_fully(input, base);
  trawl::Url fast;
  const bool accepted = trawl::UrlFastPath::parse(input, base, fast);
  if (accepted) {
    require(full && same_parts(fast, *full) && fast.has_percent() == full->has_percent(),
            "the fast path differs", input);
  }
  trawl::Url url;
  require(trawl::Url::parse_into(input, base, url).has_value() == full.has_value(),
          "parse_into() differs", input);
  if (!full) {
    require(!full.error().message.empty(), "no message", input);
    return;
  }
  require(same_parts(url, *full), "parse_into() differs", input);
  check(*full, chosen);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The last byte is part of the URL, too: in a fragment it chooses and does nothing else.
  const trawl::Canonicalizer& chosen = choice(size == 0 ? 0 : data[size - 1]);
  parse_and_check(input, nullptr, chosen);

  const std::size_t line_end = input.find('\n');
  if (line_end == std::string_view::npos) return 0;
  const auto base = trawl::Url::parse(input.substr(0, line_end));
  if (!base) return 0;
  // A copy of its own, so that a read beyond it is seen.
  const std::string reference(input.substr(line_end + 1));
  parse_and_check(reference, &*base, chosen);
  return 0;
}
