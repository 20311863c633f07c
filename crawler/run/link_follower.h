// LinkFollower: makes requests to the frontier of the URLs that were found and are to be fetched,
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
#include "crawler/decide/traps.h"
#include "crawler/decide/url_decider.h"
#include "crawler/output/page_output.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/known_links.h"

namespace trawl {

// How a URL was found, and what its place in the queue follows from.
struct FoundAs {
  UrlOrigin origin;
  std::uint32_t sitemap_level = 0;
  std::optional<double> sitemap_priority = std::nullopt;
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
  class Facts;

  static constexpr std::size_t kHeldKnown = std::size_t{1} << 13;

  // True for a link like most: another of its kind changes nothing if it was offered before.
  bool is_ordinary(const FoundAs& found) const;
  bool has_room_for(const Url& url);
  // Offers it to be set aside for a later run, if such URLs are held.
  void hold(const Url& url, const FoundAs& found, SkipReason reason);
  std::string_view note_of(const FoundAs& found, std::uint32_t hops_off_scope);
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
