// URLs and their canonical keys.
#include <memory>
#include <vector>

#include "trawl/canonicalizer.h"

#include "bindings/c/call_guard.h"
#include "bindings/c/profile_rules.h"
#include "bindings/c/text.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_canonicalizer {
  Canonicalizer canonicalizer;
};

namespace trawl::c {

tl::expected<Profile, Failure> profile_of(const trawl_str* rules, std::size_t count) {
  if (count == 0) return Profile{};
  if (auto given = require_array(rules, count, "rules"); !given)
    return tl::unexpected(given.error());
  if (count > 1000) return invalid("rule_count is above 1000");
  RulesText text;
  text.rules.emplace();
  for (std::size_t i = 0; i < count; ++i) {
    const auto rule = view_of(rules[i], "a rule");
    if (!rule) return tl::unexpected(rule.error());
    text.rules->emplace_back(*rule);
  }
  auto profile = Profile::from_text(text);
  if (!profile) return failure(std::move(profile.error()));
  return std::move(*profile);
}

}  // namespace trawl::c

trawl_status trawl_url_parse(trawl_str input, const trawl_url* base, trawl_url** url,
                             trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(url, "url"); !given) return given;
    const auto text = view_of(input, "input");
    if (!text) return tl::unexpected(text.error());
    auto parsed = Url::parse(*text, base == nullptr ? nullptr : &base->url);
    if (!parsed) return failure(std::move(parsed.error()));
    *url = new trawl_url{std::move(*parsed)};
    return {};
  });
}

void trawl_url_free(trawl_url* url) {
  delete url;
}

trawl_str trawl_url_get(const trawl_url* url, int32_t part) {
  if (url == nullptr) return trawl_str{"", 0};
  const Url& parsed = url->url;
  switch (part) {
    case TRAWL_HREF:
      return str_of(parsed.href());
    case TRAWL_SCHEME:
      return str_of(parsed.scheme());
    case TRAWL_USERNAME:
      return str_of(parsed.username());
    case TRAWL_PASSWORD:
      return str_of(parsed.password());
    case TRAWL_HOSTNAME:
      return str_of(parsed.hostname());
    case TRAWL_HOST:
      return str_of(parsed.host());
    case TRAWL_PORT:
      return str_of(parsed.port());
    case TRAWL_PATH:
      return str_of(parsed.path());
    case TRAWL_QUERY:
      return str_of(parsed.query());
    case TRAWL_FRAGMENT:
      return str_of(parsed.fragment());
    default:
      return trawl_str{"", 0};
  }
}

trawl_status trawl_canonicalizer_create(const trawl_str* rules, size_t rule_count,
                                        trawl_canonicalizer** canonicalizer, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(canonicalizer, "canonicalizer"); !given) return given;
    auto profile = profile_of(rules, rule_count);
    if (!profile) return tl::unexpected(std::move(profile.error()));
    *canonicalizer = new trawl_canonicalizer{Canonicalizer(std::move(*profile))};
    return {};
  });
}

trawl_status trawl_canonicalizer_key(const trawl_canonicalizer* canonicalizer, const trawl_url* url,
                                     trawl_text** key, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(canonicalizer, "canonicalizer"); !given) return given;
    if (auto given = require(url, "url"); !given) return given;
    if (auto given = require(key, "key"); !given) return given;
    *key = new trawl_text{canonicalizer->canonicalizer.key(url->url)};
    return {};
  });
}

void trawl_canonicalizer_free(trawl_canonicalizer* canonicalizer) {
  delete canonicalizer;
}
