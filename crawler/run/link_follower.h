// LinkFollower: decides which of the URLs that were found are offered to the frontier, and how.
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
#include "crawler/decide/traps.h"
#include "crawler/decide/url_note.h"
#include "crawler/output/page_output.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/known_links.h"

namespace trawl {

// How a URL was found.
struct FoundAs {
  std::uint32_t depth = 0;           // its own
  std::uint32_t hops_off_scope = 0;  // of the page it was found on
  std::uint32_t redirects = 0;       // in a row that led to it
  UrlNote::Role role = UrlNote::Role::kPage;
  std::uint32_t sitemap_level = 0;
  std::optional<double> sitemap_priority = std::nullopt;
  // Of the site whose pages are crawled, of its own accord: then a sitemap need not be in scope.
  bool own_site = false;
  // Of a sitemap: UrlNote::vouched.
  bool vouched = false;
  // To be queued although it was seen: a redirect to another spelling of the page itself.
  bool again = false;
};

// Of one thread, for one page after another.
class LinkFollower {
 public:
  // `traps` is that of the thread.
  LinkFollower(CrawlContext& context, const TrapDetector& traps)
      : context_(context), traps_(traps) {}

  // Begins with the page `from`. What is skipped is noted in `output`, if there is one and the
  // crawl writes it.
  void begin(std::string_view from, PageOutput* output);
  // Of one more URL found there, which stays where it is until the requests are used.
  void add(const Url& url, const FoundAs& found);
  // The same for one that goes away.
  void add(Url&& url, const FoundAs& found) { add(owned_.emplace_back(std::move(url)), found); }
  void skip(std::string_view url, SkipReason reason, std::string_view rule = {});
  // `n` references that were not even URLs of ours.
  void skip_many(SkipReason reason, std::uint64_t n) {
    if (n > 0) context_.skipped.add(reason, n);
  }

  // Links left out since they were offered before.
  std::uint64_t known() const { return left_out_; }
  // What is to be offered. Good until the next begin().
  std::span<const UrlRequest> requests();
  // What became of it.
  void offered(std::span<const Admission> admissions);

 private:
  static constexpr std::size_t kHeldKnown = std::size_t{1} << 13;

  // True for a link like most: another of its kind changes nothing if it was offered before.
  bool is_ordinary(const FoundAs& found) const;
  // A site's own sitemap may lie where its pages that are wanted do not; one that its robots.txt
  // names, anywhere.
  bool is_own_sitemap(const Url& url, const FoundAs& found) const;
  bool has_room_for(const Url& url);
  // It is offered to be set aside, as another run may want it.
  void hold(const Url& url, const FoundAs& found, SkipReason reason);
  // Gives back the places of what was not offered.
  void leave_places();

  CrawlContext& context_;
  const TrapDetector& traps_;
  OneThread thread_;
  std::string_view from_;
  PageOutput* output_ = nullptr;
  KnownLinks known_;
  KnownLinks known_held_{kHeldKnown};
  std::uint64_t left_out_ = 0;  // of the page
  std::vector<UrlRequest> requests_;
  std::vector<UrlRequest> held_;  // behind the others once requests() was called
  // What the requests' views point into.
  std::deque<Url> owned_;
  std::deque<std::string> notes_;
  std::vector<HostUrlCounts::Place> places_;  // of the requests, if URLs of hosts are counted
};

}  // namespace trawl
