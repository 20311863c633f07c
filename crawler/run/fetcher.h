// Fetcher: one thread of a crawl. Leases URLs, checks robots.txt, fetches, and ends each lease with
// what the PageHandler made of the response. Reads pages of other fetchers when it has time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trawl/frontier.h"

#include "crawler/decide/host_limits.h"
#include "crawler/decide/host_pace.h"
#include "crawler/http/http_client.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/page_handler.h"
#include "crawler/run/page_queue.h"
#include "crawler/run/page_reader.h"
#include "crawler/run/robots_cache.h"

namespace trawl {

class Fetcher {
 public:
  // Leases from `shard`, and takes connections as thread `shard`.
  static Result<std::unique_ptr<Fetcher>> create(CrawlContext& context, std::uint32_t shard,
                                                 const HttpOptions& http);

  // Works until the phase ends it, or an error occurs.
  void run();
  // Makes run() look for work or a change of phase. Thread-safe.
  void wake() { client_->wake(); }

 private:
  Fetcher(CrawlContext& context, std::uint32_t shard, std::unique_ptr<HttpClient> client);

  void run_rounds();
  // After a look at the limits.
  CrawlPhase phase_now();
  void take_leases();
  void announce_end();
  // How many leases may be taken now.
  std::size_t most_leases() const;
  static std::chrono::microseconds started_after(const OpenLease& open, SteadyTime sent);
  bool is_crowded() const;
  std::chrono::milliseconds idle_time() const;
  void begin(OpenLease open);
  void fetch(OpenLease open, const Url& url);
  HttpRequest request_for(const Url& url) const;
  // The gate that waits for the turn of a request to `host` on behalf of a lease; null if none is
  // needed.
  std::shared_ptr<StartGate> gate_for(const OpenLease& open, const std::string& host) const;
  void on_page(OpenLease&& open, HttpResponse&& response);
  void note_fetched(OpenLease& open, SteadyTime sent);
  void finish_page(const OpenLease& open, const Url& url, HttpResponse&& response, ReadPage& read);
  // Counts the result of any request; may reach a limit.
  void count(const HttpResponse& response);

  // In fetcher_pages.cc. Waits for events, or for pages of others to read.
  void wait_for_events();
  void wait_as_reader(std::chrono::milliseconds longest);
  bool has_time() const;

  // In fetcher_robots.cc. Requests `ask_for`, the robots.txt of `origin` or a redirect target.
  void fetch_robots(const std::string& origin, std::string ask_for, OpenLease first);
  void on_robots(const std::string& origin, const HttpResponse& response);
  // It was not the host's turn.
  void put_off_robots(const std::string& origin, SteadyTime until);
  void set_address(const std::string& host, const std::string& address);
  void set_crawl_delay(const std::string& host);
  void offer_sitemaps(const std::string& origin, const Robots& robots, SeedSettings::Id seed);

  // In fetcher_held.cc. An origin whose URLs are held while other origins of its host are fetched.
  struct HeldOrigin {
    SteadyTime since;   // when the hold began
    SteadyTime ask_at;  // when robots.txt is requested again
    std::string_view reason;
    std::string why;
  };
  // Ends a lease whose origin must not be requested now.
  void leave_origin(const OpenLease& open, const std::string& origin, const RobotsAnswer& robots);
  // Whether URLs of an origin without robots.txt are held, instead of parking the host.
  bool is_held(const std::string& host, const std::string& origin, const RobotsAnswer& robots);
  bool has_other_origins(const std::string& host, const std::string& origin);
  // Returns false if too many origins are held already.
  bool begin_hold(const std::string& origin, SteadyTime ask_at, std::string_view reason,
                  std::string_view why);
  // Returns true if the origin's URLs are held without a request: the lease has ended then.
  bool hold_untrusted(const OpenLease& open, const Url& url);
  // Returns true if the hold begins with this response: the lease has ended then.
  bool lacks_trust(const OpenLease& open, const Url& url, const HttpResponse& response);
  void hold_of(const OpenLease& open, const HeldOrigin& held);
  // Schedules the held URLs of an origin to be queued again; see HeldUrlRequeuer.
  void release_origin(const std::string& origin);
  // The same for all origins that were held long enough.
  void release_origins();

  // In fetcher_logins.cc. Returns true if the host is logged in to first: the lease has ended then,
  // or pays for the login.
  bool must_log_in(const OpenLease& open, const Url& url);
  void log_in(const OpenLease& open, std::size_t place);
  void on_login(const OpenLease& open, std::size_t place, bool own, const HttpResponse& response);
  // Returns true if the URL is fetched again after a login: the lease has ended then.
  bool is_logged_out(const OpenLease& open, const Url& url, const HttpResponse& response);

  // In fetcher_crashes.cc. Returns true if `asked` must not be requested now: the lease has ended
  // then.
  bool is_put_off(const OpenLease& open, std::string_view asked);
  void put_off(const OpenLease& open, std::string_view asked);
  void set_aside(const OpenLease& open, std::string_view asked);
  void leave_host_alone(const OpenLease& open, std::string_view robots_txt);

  // In fetcher_ends.cc. How a lease ends.
  void complete(const OpenLease& open, PageHandler::Result result);
  void retry(const OpenLease& open, PageHandler::Result result);
  // Offers the links of a page whose lease fail() is about to end.
  bool offer_links(const OpenLease& open, PageOutput& output);
  // Ends a lease after a request at `asked_at`; absent: without a request.
  void end(const OpenLease& open, std::string_view error, std::string_view reason,
           std::optional<SteadyTime> asked_at);
  // Sets the URL aside, since settings or rules of this run exclude it.
  void hold(const OpenLease& open, PageHandler::Result result, const HoldReason& reason);
  // Holds a URL that must not be requested now, for the error in `result`. If there is no room for
  // held URLs, its host is parked until `ask_at`.
  void hold_or_park(const OpenLease& open, PageHandler::Result result, HoldReason reason,
                    SteadyTime ask_at);
  void hold_refused(const OpenLease& open, std::string_view error);
  // Parks the host of the lease, whose robots.txt cannot be fetched; its queue is kept.
  void park(const OpenLease& open, std::string_view reason);
  // The host name does not exist; the frontier decides what that means.
  void fail_no_such_host(const OpenLease& open, const RobotsAnswer& robots, SteadyTime asked_at);
  void skip(const OpenLease& open, const Url& url, const UrlVerdict& verdict);
  // Returns the URL to its queue. The host is not requested before `next_start`, nor within its
  // delay after `asked_at`, the time of another request to it (absent: there was none).
  void end_recrawls(const OpenLease& open);  // of a page that a sitemap has fetched again
  void release(const OpenLease& open, SteadyTime next_start, std::optional<SteadyTime> asked_at);
  void lease_ended(const OpenLease& open);
  // Its connection is free for another lease.
  void request_ended();
  // Submits a page's output; its lease ends when that is written.
  void submit(const OpenLease& open, PageHandler::Result result);
  void renew_leases();

  // Notes a failed fetch for the summary.
  void note_failure(const OpenLease& open, const Outcome& outcome);
  // Updates what is known about silent hosts.
  void note_trouble(const OpenLease& open, std::string_view why, std::string_view error,
                    std::optional<SystemTime> until, bool parked);
  void note_answer(const std::string& host, bool good);
  bool doubts_host(const OpenLease& open, std::optional<FailureReason> failure);

  CrawlContext& context_;
  const std::uint32_t shard_;
  std::unique_ptr<HttpClient> client_;
  PageReader reader_;
  PageHandler handler_;
  PageQueue queue_;  // empty unless other threads have time to read
  ReadPage read_;    // of a page that was not queued
  RobotsCache robots_;
  HostPageQuota page_limits_;
  HostPace pace_;
  // Leases whose origin's robots.txt is being fetched, by origin.
  std::unordered_map<std::string, std::vector<OpenLease>> waiting_for_robots_;
  std::unordered_map<std::string, HeldOrigin>
      held_origins_;                           // those of this thread; CrawlContext has all
  SteadyTime first_held_ = SteadyTime::max();  // the earliest `since` of these
  // Hosts whose robots.txt is requested next, to see whether they answer at all.
  std::unordered_set<std::string> doubted_;
  // Consecutive requests without an answer, by host; only hosts whose last request had none.
  std::unordered_map<std::string, std::uint32_t> silent_;
  std::unordered_set<std::uint64_t> leases_;  // those that are worked on
  std::size_t fetched_leases_ = 0;            // of these, note_fetched()
  bool noted_fetched_ = false;                // since take_leases()
  SteadyTime renewed_ = std::chrono::steady_clock::now();
  std::uint32_t reloads_ = 0;       // CrawlContext::reloads at the last round
  bool has_room_ = true;            // for another lease, at the last call of take_leases()
  bool has_announced_end_ = false;  // and has had no lease since
};

}  // namespace trawl
