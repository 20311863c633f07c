#include "crawler/sample_site/sample_web.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "crawler/sample_site/sample_site_page.h"

namespace trawl {

namespace {

using std::literals::operator""sv;

constexpr std::uint64_t kChildren = 8;
constexpr std::uint64_t kSlowOneIn = 50;
constexpr std::uint64_t kSitemapPages = 1000;

enum Purpose : std::uint64_t { kPathStyle = 1, kSlowness, kCompression, kTarget };

// Each on one in 32 pages, see SampleWeb::feature().
enum Feature : unsigned {
  kHasMissing,
  kHasGone,
  kHasBroken,
  kHasText,
  kHasPdf,
  kHasImage,
  kHasChainOf1,
  kHasChainOf2,
  kHasChainOf3,
  kHasChainToMissing,
  kHasPrivate,
  kHasLure,
  kHasAway,
};

// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Normalises a request target: escapes in upper case, none for unreserved characters, one for every
// byte that is not ASCII.
std::string canonical_target(std::string_view target) {
  std::string out;
  out.reserve(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    unsigned char byte = static_cast<unsigned char>(target[i]);
    bool escaped = byte >= 0x80;
    if (byte == '%' && i + 2 < target.size() && hex_value(target[i + 1]) >= 0 &&
        hex_value(target[i + 2]) >= 0) {
      byte = static_cast<unsigned char>(hex_value(target[i + 1]) * 16 + hex_value(target[i + 2]));
      escaped = !is_unreserved(byte);
      i += 2;
    }
    if (escaped) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      out.push_back(static_cast<char>(byte));
    }
  }
  return out;
}

// The last run of digits before `end`; empty if there is none.
std::string_view last_digits(std::string_view text, std::size_t end) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (end > 0 && !is_digit(text[end - 1]))
    --end;
  std::size_t start = end;
  while (start > 0 && is_digit(text[start - 1]))
    --start;
  return text.substr(start, end - start);
}

std::optional<std::uint64_t> to_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return {};
  return number;
}

std::string small_html(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html><html><head><title>{0}</title></head><body>{0}</body></html>\n", title);
}

SampleKind kind_of_path(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, SampleKind>, 14> kPrefixes{{
      {"/x/missing/", SampleKind::kMissing},
      {"/x/gone/", SampleKind::kGone},
      {"/x/broken/", SampleKind::kBroken},
      {"/x/notes-", SampleKind::kText},
      {"/x/paper-", SampleKind::kPdf},
      {"/x/pixel-", SampleKind::kImage},
      {"/hop/", SampleKind::kHop},
      {"/loop/", SampleKind::kLoop},
      {"/lure/", SampleKind::kLure},
      {"/away/", SampleKind::kAway},
      {"/private/open/", SampleKind::kPage},
      {"/private/", SampleKind::kPrivate},
      {"/robots.txt", SampleKind::kRobots},
      {"/sitemap.xml", SampleKind::kSitemap},
  }};
  for (const auto& [prefix, kind] : kPrefixes) {
    if (path.starts_with(prefix)) return kind;
  }
  return SampleKind::kPage;
}

}  // namespace

SampleWeb::SampleWeb(const SampleSiteOptions& options)
    : pages_(options.pages),
      hosts_(static_cast<std::uint32_t>(std::min<std::uint64_t>(options.hosts, options.pages))),
      seed_(options.seed),
      port_(options.port),
      page_bytes_(options.page_bytes) {}

std::uint64_t SampleWeb::random(std::uint64_t number, std::uint64_t purpose) const {
  return mixed(mixed(mixed(seed_) ^ number) ^ purpose);
}

std::string SampleWeb::address(std::uint32_t host) {
  return fmt::format("127.0.0.{}", host + 1);
}

std::string SampleWeb::origin(const std::string& address) const {
  return fmt::format("http://{}:{}", address, port_);
}

std::uint32_t SampleWeb::host_of(const SampleResource& resource) const {
  return static_cast<std::uint32_t>(resource.number % hosts_);
}

std::string SampleWeb::origin_of(const SampleResource& resource) const {
  if (resource.kind == SampleKind::kOutside) return origin(outside_address());
  return origin(address(host_of(resource)));
}

std::string SampleWeb::url_of(const SampleResource& resource) const {
  return origin_of(resource) + path_of(resource);
}

std::string SampleWeb::path_of(const SampleResource& resource) const {
  const std::uint64_t n = resource.number;
  switch (resource.kind) {
    case SampleKind::kMissing:
      return fmt::format("/x/missing/{}", n);
    case SampleKind::kGone:
      return fmt::format("/x/gone/{}", n);
    case SampleKind::kBroken:
      return fmt::format("/x/broken/{}", n);
    case SampleKind::kText:
      return fmt::format("/x/notes-{}.txt", n);
    case SampleKind::kPdf:
      return fmt::format("/x/paper-{}.pdf", n);
    case SampleKind::kImage:
      return fmt::format("/x/pixel-{}.gif", n);
    case SampleKind::kHop:
      return fmt::format("/hop/{}/{}", n, resource.step);
    case SampleKind::kLoop:
      return fmt::format("/loop/{}/{}", n, resource.step);
    case SampleKind::kLure:
      return fmt::format("/lure/{}", n);
    case SampleKind::kAway:
      return fmt::format("/away/{}", n);
    case SampleKind::kPrivate:
      return fmt::format("/private/{}", n);
    case SampleKind::kRobots:
      return "/robots.txt";
    case SampleKind::kSitemap:
      return "/sitemap.xml";
    case SampleKind::kOutside:
      return fmt::format("/outside/{}", n);
    case SampleKind::kPage:
      break;
  }
  if (n < hosts_) return "/";
  switch (random(n, kPathStyle) % 10) {
    case 0:
      return fmt::format("/list?page={}", n);
    case 1:
      return fmt::format("/list?sort=up&page={}", n);
    case 2:
      return fmt::format("/p/~page{}", n);
    case 3:
      return fmt::format("/p/caf%C3%A9-{}", n);
    case 4:
      return fmt::format("/dir/{}/", n);
    case 5:
      return fmt::format("/private/open/{}.html", n);
    default:
      return fmt::format("/docs/{}/{}.html", n % 7, n);
  }
}

std::vector<std::uint64_t> SampleWeb::children(std::uint64_t page) const {
  std::vector<std::uint64_t> found;
  for (std::uint64_t k = 0; k < kChildren; ++k) {
    const std::uint64_t child = page * kChildren + k + hosts_;
    if (child < pages_) found.push_back(child);
  }
  return found;
}

std::uint64_t SampleWeb::parent(std::uint64_t page) const {
  return page < hosts_ ? page : (page - hosts_) / kChildren;
}

std::uint32_t SampleWeb::chain_length(std::uint64_t page) const {
  switch (feature(page)) {
    case kHasChainOf1:
      return 1;
    case kHasChainOf2:
      return 2;
    case kHasChainOf3:
      return 3;
    case kHasChainToMissing:
      return 2;
    default:
      return 0;
  }
}

std::vector<SampleResource> SampleWeb::extras(std::uint64_t page) const {
  std::vector<SampleResource> found;
  if (page == 0) found.push_back({SampleKind::kLoop, 0, 0});
  switch (feature(page)) {
    case kHasMissing:
      found.push_back({SampleKind::kMissing, page});
      break;
    case kHasGone:
      found.push_back({SampleKind::kGone, page});
      break;
    case kHasBroken:
      found.push_back({SampleKind::kBroken, page});
      break;
    case kHasText:
      found.push_back({SampleKind::kText, page});
      break;
    case kHasPdf:
      found.push_back({SampleKind::kPdf, page});
      break;
    case kHasImage:
      found.push_back({SampleKind::kImage, page});
      break;
    case kHasPrivate:
      found.push_back({SampleKind::kPrivate, page});
      break;
    case kHasLure:
      found.push_back({SampleKind::kLure, page});
      break;
    case kHasAway:
      found.push_back({SampleKind::kAway, page});
      break;
    default:
      break;
  }
  if (chain_length(page) > 0) found.push_back({SampleKind::kHop, page, 0});
  return found;
}

SampleResource SampleWeb::redirect_target(const SampleResource& resource) const {
  const std::uint64_t page = resource.number;
  switch (resource.kind) {
    case SampleKind::kLoop:
      return {SampleKind::kLoop, page, 1 - resource.step};
    case SampleKind::kLure:
      return {SampleKind::kPrivate, page};
    case SampleKind::kAway:
      return {SampleKind::kOutside, page};
    default:
      break;
  }
  if (resource.step + 1 < chain_length(page)) {
    return {SampleKind::kHop, page, resource.step + 1};
  }
  if (feature(page) == kHasChainToMissing) return {SampleKind::kMissing, page};
  // The next page is on the next host.
  if (feature(page) == kHasChainOf2) return {SampleKind::kPage, (page + 1) % pages_};
  return {SampleKind::kPage, random(page, kTarget) % pages_};
}

bool SampleWeb::disallowed(const SampleResource& resource) const {
  return resource.kind == SampleKind::kPrivate && has_robots(host_of(resource));
}

std::vector<std::string> SampleWeb::seeds() const {
  std::vector<std::string> urls;
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    urls.push_back(url_of({SampleKind::kPage, host}));
  }
  return urls;
}

std::vector<std::string> SampleWeb::reachable_urls() const {
  std::vector<std::string> urls;
  for (std::uint64_t page = 0; page < pages_; ++page) {
    urls.push_back(url_of({SampleKind::kPage, page}));
    for (SampleResource resource : extras(page)) {
      // Follows chains until they leave this page's resources, the site, or what robots.txt allows.
      std::vector<SampleResource> seen;
      while (resource.kind != SampleKind::kPage && resource.kind != SampleKind::kOutside &&
             !disallowed(resource) && std::find(seen.begin(), seen.end(), resource) == seen.end()) {
        seen.push_back(resource);
        urls.push_back(url_of(resource));
        const bool redirects =
            resource.kind == SampleKind::kHop || resource.kind == SampleKind::kLoop ||
            resource.kind == SampleKind::kLure || resource.kind == SampleKind::kAway;
        if (!redirects) break;
        resource = redirect_target(resource);
      }
    }
  }
  std::sort(urls.begin(), urls.end());
  return urls;
}

std::optional<SampleResource> SampleWeb::find(std::uint32_t host, const std::string& path) const {
  SampleResource resource{kind_of_path(path)};
  std::size_t end = path.size();
  const bool has_step = resource.kind == SampleKind::kHop || resource.kind == SampleKind::kLoop;
  if (has_step) {
    const auto step = to_number(last_digits(path, end));
    end = path.rfind('/');
    if (!step || *step > 9 || end == std::string::npos) return {};
    resource.step = static_cast<std::uint32_t>(*step);
  }
  if (resource.kind == SampleKind::kRobots || resource.kind == SampleKind::kSitemap ||
      path == "/") {
    resource.number = host;
  } else {
    const auto number = to_number(last_digits(path, end));
    if (!number || *number >= pages_) return {};
    resource.number = *number;
  }
  if (host_of(resource) != host || path_of(resource) != path) return {};
  return resource;
}

SampleReply SampleWeb::redirect(const SampleResource& resource) const {
  constexpr std::array<int, 4> kStatuses{301, 302, 307, 308};
  SampleReply reply;
  reply.status = kStatuses[(resource.number / kFeatures + resource.step) % kStatuses.size()];
  const SampleResource target = redirect_target(resource);
  if (target.kind == SampleKind::kHop) {
    reply.location = fmt::format("{}", target.step);  // relative to /hop/<number>/
  } else if (target.kind == SampleKind::kMissing) {
    reply.location = path_of(target);
  } else {
    reply.location = url_of(target);
  }
  return reply;
}

SampleReply SampleWeb::serve(const SampleResource& resource) const {
  constexpr std::string_view kGif =
      "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"sv;
  SampleReply reply{.content_type = "text/html; charset=utf-8"};
  const std::uint64_t n = resource.number;
  switch (resource.kind) {
    case SampleKind::kPage:
      reply.body = sample_page_html(*this, n);
      reply.compress = random(n, kCompression) % 4 == 0;
      reply.slow = n >= hosts_ && random(n, kSlowness) % kSlowOneIn == 0;
      break;
    case SampleKind::kMissing:
      reply.status = 404;
      reply.body = small_html("no such page");
      break;
    case SampleKind::kGone:
      reply.status = 410;
      reply.body = small_html("gone for good");
      break;
    case SampleKind::kBroken:
      reply.status = 500;
      reply.body = small_html("broken");
      break;
    case SampleKind::kText:
      reply.content_type = "text/plain";
      reply.body = fmt::format("See {0}/trap/text-{1} and\n<a href=\"/trap/text-{1}\">this</a>.\n",
                               origin_of(resource), n);
      break;
    case SampleKind::kPdf:
      reply.content_type = "application/pdf";
      reply.body = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n<a href=\"/trap/pdf\">no link</a>\n%%EOF\n";
      break;
    case SampleKind::kImage:
      reply.content_type = "image/gif";
      reply.body = kGif;
      break;
    case SampleKind::kPrivate:
      reply.body = small_html("private");
      break;
    case SampleKind::kRobots:
      reply.content_type = "text/plain";
      reply.status = has_robots(host_of(resource)) ? 200 : 404;
      reply.body = robots(host_of(resource));
      break;
    case SampleKind::kSitemap:
      reply.content_type = "application/xml";
      reply.body = sitemap(host_of(resource));
      break;
    case SampleKind::kHop:
    case SampleKind::kLoop:
    case SampleKind::kLure:
    case SampleKind::kAway:
      return redirect(resource);
    case SampleKind::kOutside:
      break;  // never requested on these hosts
  }
  return reply;
}

SampleReply SampleWeb::reply(std::uint32_t host, std::string_view target) const {
  if (const auto resource = find(host, canonical_target(target))) return serve(*resource);
  return {.status = 404,
          .content_type = "text/html; charset=utf-8",
          .body = small_html("nothing links here")};
}

std::string SampleWeb::robots(std::uint32_t host) const {
  const std::string sitemap_line = fmt::format("Sitemap: {}/sitemap.xml\n", origin(address(host)));
  switch (host % 4) {
    case 0:
      return "User-agent: *\nDisallow: /private/\nAllow: /private/open/\n" + sitemap_line;
    case 2:
      return "# CRLF, comments, groups of others\r\nUSER-AGENT: otherbot\r\nDisallow: /\r\n\r\n"
             "user-agent : * # everyone else\r\ndisallow:/private/ \r\nAllow: /private/open/\r\n" +
             sitemap_line;
    case 3:
      return sitemap_line +
             "User-agent: otherbot\nUser-agent: *\nAllow: /private/open/*.html$\n"
             "Disallow: /priv\nDisallow:\n";
    default:
      return "no such file\n";
  }
}

std::string SampleWeb::sitemap(std::uint32_t host) const {
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
  std::uint64_t named = 0;
  for (std::uint64_t page = host; page < pages_ && named < kSitemapPages; page += hosts_, ++named) {
    std::string url = url_of({SampleKind::kPage, page});
    if (const std::size_t at = url.find('&'); at != std::string::npos) url.replace(at, 1, "&amp;");
    xml += fmt::format("<url><loc>{}</loc></url>\n", url);
  }
  return xml + "</urlset>\n";
}

}  // namespace trawl
