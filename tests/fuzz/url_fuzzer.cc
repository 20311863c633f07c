// Any bytes as a URL: the first line is a base, the rest a reference (one line: no base). What is
// accepted must survive being serialised and parsed again, and so must its canonical key.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "frontier/registrable_domain.h"

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
         a.has_fragment() == b.has_fragment() && a.host_is_ip() == b.host_is_ip();
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto url = trawl::Url::parse(input)) check(*url);

  const std::size_t line_end = input.find('\n');
  if (line_end == std::string_view::npos) return 0;
  const auto base = trawl::Url::parse(input.substr(0, line_end));
  if (!base) return 0;
  if (const auto url = trawl::Url::parse(input.substr(line_end + 1), &*base)) check(*url);
  return 0;
}
