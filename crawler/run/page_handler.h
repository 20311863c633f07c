// PageHandler: what the answer to a request means: what is followed, what is written, and whether
// the URL is fetched again.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trawl/frontier.h"
#include "trawl/link_header.h"
#include "trawl/links.h"
#include "trawl/url.h"

#include "base/one_thread.h"
#include "crawler/decide/trap_detector.h"
#include "crawler/decide/url_note.h"
#include "crawler/http/http_client.h"
#include "crawler/output/page_output.h"
#include "crawler/parse/css/style_sheet_reader.h"
#include "crawler/parse/script_reader.h"
#include "crawler/run/body_digest.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/link_follower.h"
#include "crawler/run/sitemap_requests.h"
#include "crawler/warc/warc_builder.h"

namespace trawl {

// A lease that is being worked on.
struct OpenLease {
  Lease lease;
  SteadyTime leased_at;
  SystemTime wall_time;
  CrashLoopBreaker::Ticket in_flight = {};  // from the request on
};

// Of one thread.
class PageHandler {
 public:
  struct Result {
    Outcome outcome;
    std::shared_ptr<PageOutput> output;  // without lease and outcome
    // It may be tried again. There are links only if it is not, and a part of the body came.
    std::optional<FailureReason> failure;
    std::optional<std::chrono::milliseconds> retry_after;
    bool truncated = false;  // the URL ends with a part of the body
  };

  explicit PageHandler(CrawlContext& context);

  // The links are those of links() until the next call.
  // `host_doubted`: that nothing came is not the URL's fault, which keeps its tries.
  Result handle(const OpenLease& open, const Url& url, HttpResponse response, bool host_doubted);
  // Of a URL for which no answer came about, because of `error` or, if that is empty, `reason`.
  Result give_up(const OpenLease& open, std::string_view error, std::string_view reason);
  // When a URL that ends as failed is asked for again, if the outcome does not say so.
  void plan_failed(const OpenLease& open, Outcome& outcome) const;
  LinkFollower& links() { return follower_; }
  // Whether a part of a body that is too large is of use: for the archive, or for its links.
  bool wants_part(UrlNote::Role role, const HttpResponse& head) const;
  // Of the patterns of URLs that this thread has met.
  const TrapDetector& traps() const { return traps_; }

  // The exchange of a robots.txt, for Output::submit(); null if no sink takes it.
  std::shared_ptr<PageOutput> archive(std::string_view url, const HttpResponse& response);

 private:
  struct Answer {
    HttpResponse response;
    SystemTime fetched_at;
    bool last = true;  // the URL is not tried again
  };
  Answer choose_answer(const OpenLease& open, const Result& result, HttpResponse response);

  // What is known of the page in hand.
  struct Page {
    const OpenLease& open;
    const Url& url;
    const HttpResponse& response;
    SystemTime fetched_at;
    UrlNote note;  // that the lease came with
    PageOutput& output;
    Outcome& outcome;
    std::optional<FirstCopy> first_copy = std::nullopt;  // another URL had this body first
    bool unchanged = false;                              // since the fetch before
    bool parsed = false;                                 // its links are in found_
  };

  void read(Page& page);
  void watch_for_traps(const Page& page);
  void follow(Page& page);
  void follow_redirect(Page& page);
  void follow_as_seed(const Page& page, const Url& target, const UrlOrigin& origin);
  void follow_sitemap(Page& page);
  void follow_page(Page& page);
  void skip_dropped();
  void follow_header_links(Page& page, bool nofollow);
  void follow_refresh(Page& page, bool nofollow);
  void follow_link(Page& page, const Link& link, bool nofollow);
  static LinkContext found_on(const Page& page, LinkKind kind, bool nofollow);
  void note_link(Page& page, const Link& link);
  bool is_same_page(const Url& one, const Url& other) const;
  bool stands_for_itself(const Page& page) const;
  void follow_feed(Page& page);
  void follow_header_requisite(Page& page, const HeaderLink& link);
  void follow_style_sheet(Page& page);
  void follow_guess(Page& page, const Link& link, bool nofollow, bool is_link);
  void follow_strings(Page& page, bool is_script);
  void follow_links(Page& page, bool nofollow);
  bool follows_links(const Page& page) const;
  LinkContext listed_in(const Page& page, const SitemapRequest& request) const;
  bool is_feed(const HttpResponse& response) const;
  bool is_parsed(const HttpResponse& response) const;
  bool is_kept(const HttpResponse& response) const;
  void add_exchange(Page& page);
  bool keeps_body(const Page& page, const Result& result) const;
  void plan_recrawl(Page& page);

  CrawlContext& context_;
  LinkExtractor extractor_;
  std::optional<StyleSheetReader> style_sheets_;
  std::optional<ScriptReader> scripts_;
  PageLinks found_;  // on the page in hand
  TrapDetector traps_;
  LinkFollower follower_;
  const SinkInputs inputs_;
  OutputSinks::Encoders encoders_;
  BodyDigest digest_;
  OneThread thread_;
};

}  // namespace trawl
