// robots.txt, the links of pages, sitemaps.
#include <algorithm>
#include <limits>

#include "trawl/links.h"
#include "trawl/robots.h"
#include "trawl/sitemap.h"

#include "bindings/c/call_guard.h"
#include "bindings/c/text.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_robots {
  Robots robots;
};
struct trawl_links {
  PageLinks page;
};
struct trawl_sitemap {
  Sitemap sitemap;
};

namespace {

constexpr LinkKind kKinds[] = {LinkKind::kNavigation, LinkKind::kForm,    LinkKind::kDocument,
                               LinkKind::kResource,   LinkKind::kRelated, LinkKind::kCitation,
                               LinkKind::kRefresh,    LinkKind::kGuess};
constexpr std::uint32_t bit_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNavigation:
      return TRAWL_LINK_NAVIGATION;
    case LinkKind::kForm:
      return TRAWL_LINK_FORM;
    case LinkKind::kDocument:
      return TRAWL_LINK_DOCUMENT;
    case LinkKind::kResource:
      return TRAWL_LINK_RESOURCE;
    case LinkKind::kRelated:
      return TRAWL_LINK_RELATED;
    case LinkKind::kCitation:
      return TRAWL_LINK_CITATION;
    case LinkKind::kRefresh:
      return TRAWL_LINK_REFRESH;
    case LinkKind::kGuess:
      return TRAWL_LINK_GUESS;
  }
  return 0;
}

tl::expected<LinkOptions, Failure> link_options(const trawl_link_options& given) {
  LinkOptions options;
  options.kinds = LinkKinds();
  std::uint32_t known = 0;
  for (const LinkKind kind : kKinds) {
    known |= bit_of(kind);
    if ((given.kinds & bit_of(kind)) != 0) options.kinds |= LinkKinds{kind};
  }
  if ((given.kinds & ~known) != 0) return invalid("options->kinds has an unknown kind of link");
  options.texts = given.texts != 0;
  options.max_text = std::min(given.max_text, std::size_t{1} << 30);
  const auto agent = view_of(given.agent, "options->agent");
  if (!agent) return tl::unexpected(agent.error());
  options.agent = std::string(*agent);
  return options;
}

}  // namespace

trawl_status trawl_robots_parse(trawl_str bytes, trawl_robots** robots, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(robots, "robots"); !given) return given;
    const auto text = view_of(bytes, "bytes");
    if (!text) return tl::unexpected(text.error());
    *robots = new trawl_robots{Robots::parse(*text)};
    return {};
  });
}

trawl_status trawl_robots_allowed(const trawl_robots* robots, trawl_str agent, const trawl_url* url,
                                  int32_t* allowed, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(robots, "robots"); !given) return given;
    if (auto given = require(url, "url"); !given) return given;
    if (auto given = require(allowed, "allowed"); !given) return given;
    const auto name = view_of(agent, "agent");
    if (!name) return tl::unexpected(name.error());
    *allowed = robots->robots.allowed(*name, url->url) ? 1 : 0;
    return {};
  });
}

trawl_status trawl_robots_crawl_delay(const trawl_robots* robots, trawl_str agent,
                                      int64_t* delay_ms, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(robots, "robots"); !given) return given;
    if (auto given = require(delay_ms, "delay_ms"); !given) return given;
    const auto name = view_of(agent, "agent");
    if (!name) return tl::unexpected(name.error());
    const auto delay = robots->robots.crawl_delay(*name);
    *delay_ms = delay ? delay->count() : -1;
    return {};
  });
}

size_t trawl_robots_sitemap_count(const trawl_robots* robots) {
  std::size_t count = 0;
  (void)guarded(nullptr, [&]() -> Checked {
    if (robots != nullptr) count = robots->robots.sitemaps().size();
    return {};
  });
  return count;
}

trawl_str trawl_robots_sitemap(const trawl_robots* robots, size_t index) {
  return index < trawl_robots_sitemap_count(robots) ? str_of(robots->robots.sitemaps()[index])
                                                    : trawl_str{"", 0};
}

void trawl_robots_free(trawl_robots* robots) {
  delete robots;
}

void trawl_link_options_init(trawl_link_options* options) {
  clear_struct(options);
  if (options == nullptr) return;
  for (const LinkKind kind : kKinds)
    options->kinds |= LinkKinds::pages().has(kind) ? bit_of(kind) : 0;
  options->agent = trawl_str_of("trawl");
}

void trawl_link_init(trawl_link* link) {
  clear_struct(link);
}
void trawl_page_init(trawl_page* page) {
  clear_struct(page);
}

trawl_status trawl_links_extract(trawl_str html, const trawl_url* base,
                                 const trawl_link_options* options, trawl_links** links,
                                 trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(links, "links"); !given) return given;
    const auto text = view_of(html, "html");
    if (!text) return tl::unexpected(text.error());
    trawl_link_options defaults;
    trawl_link_options_init(&defaults);
    const auto given =
        read_struct(options == nullptr ? &defaults : options, trawl_link_options_init, "options");
    if (!given) return tl::unexpected(given.error());
    const auto content_type = view_of(given->content_type, "options->content_type");
    if (!content_type) return tl::unexpected(content_type.error());
    auto wanted = link_options(*given);
    if (!wanted) return tl::unexpected(std::move(wanted.error()));
    const Url none;
    LinkExtractor extractor(std::move(*wanted));
    *links = new trawl_links{
        extractor.extract(*text, *content_type, base == nullptr ? none : base->url)};
    return {};
  });
}

size_t trawl_links_count(const trawl_links* links) {
  return links == nullptr ? 0 : links->page.links.size();
}

trawl_status trawl_links_get(const trawl_links* links, size_t index, trawl_link* link,
                             trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(links, "links"); !given) return given;
    if (index >= links->page.links.size()) return invalid("index is not below trawl_links_count()");
    const Link& found = links->page.links[index];
    trawl_link out;
    trawl_link_init(&out);
    out.url = str_of(found.url.href());
    out.kind = bit_of(found.kind);
    out.follow = found.follow ? 1 : 0;
    out.element = str_of(found.element);
    out.attribute = str_of(found.attribute);
    out.rel = str_of(found.rel);
    out.text = str_of(found.text);
    return write_struct(link, out, "link");
  });
}

trawl_status trawl_links_page(const trawl_links* links, trawl_page* page, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(links, "links"); !given) return given;
    const PageLinks& found = links->page;
    trawl_page out;
    trawl_page_init(&out);
    out.title = str_of(found.title);
    out.language = str_of(found.language);
    out.text = str_of(found.text);
    out.encoding = str_of(found.encoding);
    if (found.canonical) out.canonical = str_of(found.canonical->href());
    if (found.refresh && found.refresh->url) out.refresh = str_of(found.refresh->url->href());
    out.no_index = found.robots.noindex ? 1 : 0;
    out.no_follow = found.robots.nofollow ? 1 : 0;
    out.skipped = found.skipped == LinksSkipped::kNo ? 0 : 1;
    return write_struct(page, out, "page");
  });
}

void trawl_links_free(trawl_links* links) {
  delete links;
}

void trawl_sitemap_entry_init(trawl_sitemap_entry* entry) {
  clear_struct(entry);
}

trawl_status trawl_sitemap_parse(trawl_str bytes, const trawl_url* base, trawl_sitemap** sitemap,
                                 trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(sitemap, "sitemap"); !given) return given;
    if (auto given = require(base, "base"); !given) return given;
    const auto text = view_of(bytes, "bytes");
    if (!text) return tl::unexpected(text.error());
    *sitemap = new trawl_sitemap{Sitemap::parse(*text, base->url)};
    return {};
  });
}

trawl_str trawl_sitemap_kind(const trawl_sitemap* sitemap) {
  return str_of(to_string(sitemap == nullptr ? SitemapKind::kUnknown : sitemap->sitemap.kind));
}

size_t trawl_sitemap_count(const trawl_sitemap* sitemap) {
  return sitemap == nullptr ? 0 : sitemap->sitemap.entries.size();
}

trawl_status trawl_sitemap_get(const trawl_sitemap* sitemap, size_t index,
                               trawl_sitemap_entry* entry, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(sitemap, "sitemap"); !given) return given;
    if (index >= sitemap->sitemap.entries.size())
      return invalid("index is not below trawl_sitemap_count()");
    const SitemapEntry& found = sitemap->sitemap.entries[index];
    trawl_sitemap_entry out;
    trawl_sitemap_entry_init(&out);
    out.url = str_of(found.url.href());
    out.last_modified = found.last_modified ? found.last_modified->time_since_epoch().count()
                                            : std::numeric_limits<std::int64_t>::min();
    if (found.change_frequency) out.change_frequency = str_of(to_string(*found.change_frequency));
    out.priority = found.priority.value_or(-1);
    return write_struct(entry, out, "entry");
  });
}

void trawl_sitemap_free(trawl_sitemap* sitemap) {
  delete sitemap;
}
