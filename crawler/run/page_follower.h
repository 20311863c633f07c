// PageFollower: finds what a page leads to, in its redirect, its links, requisites and guesses, or
// what it lists as a sitemap or feed, and passes it on to a LinkFollower.
#pragma once

#include <cstddef>

#include "trawl/link_header.h"
#include "trawl/links.h"
#include "trawl/url.h"

#include "crawler/decide/trap_detector.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/link_follower.h"
#include "crawler/run/page_in_hand.h"
#include "crawler/run/page_reader.h"
#include "crawler/run/sitemap_requests.h"

namespace trawl {

// Of one thread, one page after another.
class PageFollower {
 public:
  // `reader` and `traps`: the thread's own.
  PageFollower(CrawlContext& context, PageReader& reader, const TrapDetector& traps)
      : context_(context),
        reader_(reader),
        links_(context, traps),
        inputs_(context.output.sinks().inputs()) {}

  // The page was begun in links(), which has its URLs afterwards; `page.read` must not change
  // until they were used.
  void follow(PageInHand& page);
  LinkFollower& links() { return links_; }

 private:
  void take_guess(PageInHand& page);
  bool has_strings(const HttpResponse& response) const;
  void follow_redirect(PageInHand& page);
  void follow_as_seed(const PageInHand& page, const Url& target, const UrlOrigin& origin);
  void follow_page(PageInHand& page);
  void follow_links(PageInHand& page, bool nofollow);
  bool leads_on(const PageInHand& page) const;
  static bool is_idle_guess(const PageInHand& page);
  bool stands_for_itself(const PageInHand& page) const;
  // `i`: of the links that were read.
  void follow_guess(PageInHand& page, std::size_t i, bool nofollow, bool is_link);
  void follow_strings(PageInHand& page, bool is_script);
  bool is_style_sheet(const PageInHand& page) const;
  void follow_style_sheet(PageInHand& page);
  void follow_header_links(PageInHand& page, bool nofollow);
  void follow_header_requisite(PageInHand& page, const HeaderLink& link);
  void follow_refresh(PageInHand& page, bool nofollow);
  void skip_dropped(const PageLinks& found);

  void follow_sitemap(PageInHand& page);
  LinkContext listed_in(const PageInHand& page, const SitemapRequest& request) const;
  // `changed`: if it was fetched already, it is fetched again.
  void follow_listed(Url&& url, const LinkContext& found, bool changed);
  void follow_feed(PageInHand& page);
  bool is_feed(const HttpResponse& response) const;

  static LinkContext found_on(const PageInHand& page, LinkKind kind, bool nofollow);
  static LinkContext linked_on(const PageInHand& page, const Link& link, bool nofollow);
  static LinkContext loaded_by(const PageInHand& page, const Link& link, bool nofollow);
  void note_link(PageInHand& page, const Link& link);
  bool is_same_page(const Url& one, const Url& other) const;

  CrawlContext& context_;
  PageReader& reader_;
  LinkFollower links_;
  const SinkInputs inputs_;
};

}  // namespace trawl
