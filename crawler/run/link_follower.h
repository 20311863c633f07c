// LinkFollower: decides on URLs found on a page; makes requests to the frontier of those to fetch,
// and lines of skipped.jsonl of the others.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/url.h"

#include "base/one_thread.h"
#include "crawler/decide/trap_detector.h"
#include "crawler/decide/url_decider.h"
#include "crawler/output/page_output.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/known_links.h"
#include "crawler/run/page_reader.h"
#include "crawler/state/sitemap_pages.h"

namespace trawl {

// How a URL was found; its depth, priority and note follow from this.
struct LinkContext {
  UrlOrigin origin;
  std::uint32_t sitemap_level = 0;
  bool lists_seeds = false;  // see UrlNote
  std::optional<double> sitemap_priority = std::nullopt;
  std::optional<std::chrono::milliseconds> listed_interval = std::nullopt;
  bool has_lastmod = false;
  bool style_sheet = false;
  // Queue it although it was seen: a redirect to another spelling of the page itself.
  bool again = false;
  std::uint32_t times = 1;  // how many references of the page it stands for: see Link::times
};

// For one thread, one page after another.
class LinkFollower {
 public:
  // `traps`: the thread's own.
  LinkFollower(CrawlContext& context, const TrapDetector& traps)
      : context_(context),
        traps_(traps),
        known_(context.link_hash),
        known_held_(context.link_hash, kHeldKnown) {}

  // Starts the page `from`. Skipped URLs are noted in `output`, unless it is null or the crawl does
  // not write them.
  void begin(std::string_view from, PageOutput* output);
  // Adds what a page needs to be shown. If it `is_link` and would be followed as such, it is added
  // as a link; or else as a requisite, whose links are not followed. `hops`: of the page, if that
  // is a requisite itself.
  void add_requisite(const Url& url, const Fingerprint& hash, const LinkContext& found,
                     std::uint32_t hops, bool is_link);
  // The same, but takes the URL over.
  void add_requisite(Url&& url, const LinkContext& found, std::uint32_t hops, bool is_link);
  // Adds a URL found on the page. `url` must stay valid until the requests were used. Returns
  // whether it is or was offered: false for a URL that is skipped.
  bool add(const Url& url, const LinkContext& found) {
    return add(url, context_.link_hash(url.href_without_fragment()), found);
  }
  // `hash`: CrawlContext::link_hash of the URL without its fragment.
  bool add(const Url& url, const Fingerprint& hash, const LinkContext& found);
  // The same, but takes the URL over.
  void add(Url&& url, const LinkContext& found);
  // Returns true if add() would leave the i-th link of a page out, since it was offered before; it
  // is counted as add() would. `origin`: of an ordinary link. To be asked of one link after the
  // other.
  bool leaves_out(std::span<const LinkGist> gists, std::size_t i, const UrlOrigin& origin);
  // True for ordinary links, which are left out if they were offered before.
  bool is_ordinary(const LinkContext& found) const;
  // Queues a page again that was fetched before, found as it was then. `listed`: the sitemap's
  // entry.
  void add_again(Url&& url, const SitemapPages::Page& page, const LinkContext& listed);
  void skip(std::string_view url, SkipReason reason, std::string_view rule = {},
            std::uint32_t times = 1);
  // Counts `n` references that are not http(s) URLs.
  void skip_many(SkipReason reason, std::uint64_t n) {
    if (n > 0) context_.skipped.add(reason, n);
  }

  // Links left out because they were offered before, or for this page already.
  std::uint64_t known() const { return left_out_; }
  // The requests to offer. Valid until the next begin().
  std::span<const UrlRequest> requests();
  // Passes in the answers of the frontier to requests().
  void offered(std::span<const Admission> admissions);

 private:
  class Facts;

  static constexpr std::size_t kHeldKnown = std::size_t{1} << 13;
  static constexpr std::size_t kGuessesKnown = std::size_t{1} << 13;

  // Takes a URL over, and frees it unless `add`, called with it, makes a request of it.
  template <class Add>
  void add_owned(Url&& url, const Add& add);
  // Whether it was offered already. A link to what was a guess is not known.
  bool knows(const Fingerprint& hash, const LinkContext& found);
  bool knows_requisite(const Fingerprint& hash, bool is_guess);
  // Whether the URL is queued although it was fetched, as a guess.
  bool is_link_to_guess(const Url& url, const LinkContext& found);
  bool has_room_for(const Url& url);
  // Offers the URL to be set aside for a later run, if such URLs are held.
  void hold(const Url& url, const LinkContext& found, SkipReason reason);
  std::int32_t priority_of(const Url& url, const LinkContext& found) const;
  std::string_view note_of(const LinkContext& found, std::uint32_t hops_off_scope);
  // Releases the places of URLs that were not offered.
  void leave_places();

  CrawlContext& context_;
  const TrapDetector& traps_;
  OneThread thread_;
  std::string_view from_;
  PageOutput* output_ = nullptr;
  KnownLinks known_;
  KnownLinks known_held_;
  std::optional<KnownLinks> known_requisites_;
  std::optional<KnownLinks> known_guesses_;
  std::optional<KnownLinks> known_guessed_requisites_;
  std::uint64_t left_out_ = 0;  // for this page
  std::vector<UrlRequest> requests_;
  std::vector<UrlRequest> held_;  // requests() appends them to the others
  // Storage that the views in the requests point into.
  std::deque<Url> owned_;
  std::deque<std::string> notes_;
  std::vector<HostUrlQuota::Place> places_;  // one per request, with scope.max_urls_per_host
};

}  // namespace trawl
