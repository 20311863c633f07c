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
#include "trawl/url.h"

#include "base/one_thread.h"
#include "crawler/decide/trap_detector.h"
#include "crawler/decide/url_note.h"
#include "crawler/http/http_client.h"
#include "crawler/output/page_output.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/fetched_page.h"
#include "crawler/run/page_follower.h"
#include "crawler/run/page_in_hand.h"
#include "crawler/run/page_reader.h"
#include "crawler/warc/sha1.h"
#include "crawler/warc/warc_builder.h"

namespace trawl {

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

  // `reader`: the thread's own.
  PageHandler(CrawlContext& context, PageReader& reader);

  // The links are those of links() until the next call; until then `read` must not change, which
  // has what was read of the page ahead, and is completed.
  // `host_doubted`: that nothing came is not the URL's fault, which keeps its tries.
  Result handle(const OpenLease& open, const Url& url, HttpResponse&& response, ReadPage& read,
                bool host_doubted);
  // Of a URL for which no answer came about, because of `error` or, if that is empty, `reason`.
  Result give_up(const OpenLease& open, std::string_view error, std::string_view reason);
  // When a URL that ends as failed is asked for again, if the outcome does not say so.
  void plan_failed(const OpenLease& open, Outcome& outcome) const;
  // Whether a page that is due by its interval is fetched only when a sitemap says so.
  bool waits_for_sitemap(const Lease& lease, const Url& url, const UrlNote& note) const;
  LinkFollower& links() { return follower_.links(); }
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
  Answer choose_answer(const OpenLease& open, const Result& result, HttpResponse&& response);

  void compare(PageInHand& page);
  void watch_for_traps(const PageInHand& page);
  bool is_kept(const HttpResponse& response) const;
  void hide_secrets(const Url& url, PageRecord& record) const;
  bool is_left_out(const PageInHand& page) const;
  std::string record_digest(const PageInHand& page);
  std::optional<RevisitOf> find_earlier(const PageInHand& page, std::string record_digest) const;
  void add_exchange(PageInHand& page);
  void archive_lookup(const HttpResponse& response);
  bool keeps_body(const PageInHand& page, const Result& result) const;
  // `last`: the URL is not tried again.
  void plan_recrawl(PageInHand& page, bool last);
  void take_listed_interval(PageInHand& page) const;
  // The note for the next fetch.
  static UrlNote next_note(const PageInHand& page);
  // Notes with what a sitemap may have the page fetched again; true if that is up to a sitemap.
  bool is_left_to_sitemap(const Lease& lease, const UrlNote& note) const;

  CrawlContext& context_;
  PageReader& reader_;
  TrapDetector traps_;
  PageFollower follower_;
  const SinkInputs inputs_;
  OutputSinks::Encoders encoders_;
  Sha1 sha1_;
  OneThread thread_;
};

}  // namespace trawl
