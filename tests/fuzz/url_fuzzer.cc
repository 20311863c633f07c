// Any bytes as a URL: the first line is a base, the rest a reference (one line: no base). What is
// accepted must survive being serialised and parsed again, and so must its canonical key; and the
// fast path must agree with the full one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "frontier/registrable_domain.h"
#include "frontier/url_fast_path.h"
#include "frontier/url_parser.h"

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

void check(const trawl::Url& url) {
  const auto again = trawl::Url::parse(url.href());
  require(again && same_parts(*again, url), "parsed anew it is another URL", url.href());
  require(!url.hostname().empty(), "no host", url.href());
  require(url.path().starts_with('/'), "no path", url.href());

  const trawl::Canonicalizer canonical;
  const std::string key = canonical.key(url);
  const auto key_url = trawl::Url::parse(key);
  require(key_url && key_url->href() == key, "the key is no serialised URL", key);
  require(canonical.key(*key_url) == key, "the key's key is another", key);

  const std::string_view domain = trawl::registrable_domain(url.hostname());
  require(!domain.empty() && url.hostname().find(domain) != std::string_view::npos,
          "the registrable domain is no part of the host", url.href());
  require(!trawl::politeness_group(url).empty(), "no politeness group", url.href());
}

void parse_and_check(std::string_view input, const trawl::Url* base) {
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
  check(*full);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  parse_and_check(input, nullptr);

  const std::size_t line_end = input.find('\n');
  if (line_end == std::string_view::npos) return 0;
  const auto base = trawl::Url::parse(input.substr(0, line_end));
  if (!base) return 0;
  // A copy of its own, so that a read beyond it is seen.
  const std::string reference(input.substr(line_end + 1));
  parse_and_check(reference, &*base);
  return 0;
}
