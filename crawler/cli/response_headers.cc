#include "crawler/cli/response_headers.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "trawl/link_header.h"
#include "trawl/robots_directives.h"

#include "crawler/parse/headers/link_types.h"
#include "crawler/parse/html/meta_refresh.h"

namespace trawl::cli {

void add_headers(const Document& document, const Url& base, const LinkOptions& options,
                 PageLinks& page) {
  page.robots |= parse_x_robots_tag(document.x_robots_tag, options.agent);
  std::vector<Link> links;
  for (HeaderLink& link : parse_link_header(document.link, base)) {
    const LinkTypes types(link.rel);
    if (!page.canonical && types.canonical) page.canonical = link.url;
    const auto kind = types.kind();
    if (!kind || !options.kinds.has(*kind)) continue;
    links.push_back({.url = std::move(link.url),
                     .kind = *kind,
                     .follow = !says_nofollow(link.rel),
                     .element = "header",
                     .attribute = "link",
                     .rel = std::move(link.rel)});
  }
  if (auto refresh = parse_meta_refresh(document.refresh)) {
    auto url = Url::parse(refresh->url, &base);
    const bool elsewhere = url && !refresh->url.empty();
    if (elsewhere && options.kinds.has(LinkKind::kRefresh)) {
      links.push_back({.url = *url,
                       .kind = LinkKind::kRefresh,
                       .element = "header",
                       .attribute = "refresh",
                       .rel = {}});
    }
    if (!page.refresh) {
      page.refresh = MetaRefresh{.delay = refresh->delay,
                                 .url = elsewhere ? std::optional(*std::move(url)) : std::nullopt};
    }
  }
  page.links.insert(page.links.begin(), std::make_move_iterator(links.begin()),
                    std::make_move_iterator(links.end()));
  if (!page.robots.nofollow) return;
  for (Link& link : page.links)
    link.follow = false;
}

}  // namespace trawl::cli
