// Fetcher: one thread of a crawl: leases URLs, asks robots.txt, fetches, and ends the leases with
// what the PageHandler makes of the answers.
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

#include "crawler/decide/host_counts.h"
#include "crawler/http/http_client.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/page_handler.h"
#include "crawler/run/robots_cache.h"

namespace trawl {

class Fetcher {
 public:
  // Leases from `shard`, for which it takes connections as thread `shard`.
  static Result<std::unique_ptr<Fetcher>> create(CrawlContext& context, std::uint32_t shard,
                                                 const HttpOptions& http);

  // Works until the phase says to stop, or an error occurs.
  void run();
  // Makes run() look for work or a change of phase. From any thread.
  void wake() { client_->wake(); }

 private:
  Fetcher(CrawlContext& context, std::uint32_t shard, std::unique_ptr<HttpClient> client);

  void take_leases();
  static std::chrono::microseconds started_after(const OpenLease& open, SteadyTime sent);
  bool is_crowded() const;
  std::chrono::milliseconds idle_time() const;
  void begin(OpenLease open);
  void fetch(OpenLease open, const Url& url);
  HttpRequest request_for(const Url& url, const std::string& host) const;
  // What asks for the turn of a request on behalf of a lease, to a host of that name; null: it
  // needs none.
  std::shared_ptr<StartGate> gate_for(const OpenLease& open, const std::string& host) const;
  void on_page(const OpenLease& open, HttpResponse response);
  // What came of a request, be it a page's or robots.txt's; may reach a limit.
  void count(const HttpResponse& response);

  // In fetcher_robots.cc.
  // Asks for `ask_for` on behalf of `origin`.
  void fetch_robots(const std::string& origin, std::string ask_for, OpenLease first);
  void on_robots(const std::string& origin, const HttpResponse& response);
  // It was not its turn.
  void put_off_robots(const std::string& origin, SteadyTime until);
  void set_address(const std::string& host, const std::string& address);
  void set_crawl_delay(const std::string& host);
  void offer_sitemaps(const std::string& origin, const Robots& robots);

  // In fetcher_held.cc.
  // Origins whose URLs are held while others of their hosts are fetched.
  struct HeldOrigin {
    SteadyTime since;   // it is held
    SteadyTime ask_at;  // until when that is decided
    std::string_view reason;
    std::string why;
  };
  // Nothing of its origin may be asked now: the lease ends.
  void leave_origin(const OpenLease& open, const std::string& origin, const RobotsAnswer& robots);
  // Whether the URLs of an origin without robots.txt are held, and its host is not parked.
  bool is_held(const std::string& host, const std::string& origin, const RobotsAnswer& robots);
  bool has_other_origins(const std::string& host, const std::string& origin);
  // False if there are too many already.
  bool begin_hold(const std::string& origin, SteadyTime ask_at, std::string_view reason,
                  std::string_view why);
  // True if the origin's URLs are held without asking for anything: the lease has ended then.
  bool hold_untrusted(const OpenLease& open, const Url& url);
  // True if that begins with this answer to a page's request: likewise.
  bool lacks_trust(const OpenLease& open, const Url& url, const HttpResponse& response);
  void hold_of(const OpenLease& open, const HeldOrigin& held);
  // The URLs of an origin that are held are to be queued again: see HeldOffers.
  void release_origin(const std::string& origin);
  // Of those that were held for long enough.
  void release_origins();

  // In fetcher_crashes.cc.
  // True if `asked` is not to be asked for now on behalf of the lease, which has ended then.
  bool is_put_off(const OpenLease& open, std::string_view asked);
  void put_off(const OpenLease& open, std::string_view asked);
  void set_aside(const OpenLease& open, std::string_view asked);
  void leave_host_alone(const OpenLease& open, std::string_view robots_txt);

  // How a lease ends.
  void complete(const OpenLease& open, PageHandler::Result result);
  void retry(const OpenLease& open, PageHandler::Result result);
  // Of a page whose lease fail() is about to end.
  bool offer_links(const OpenLease& open, PageOutput& output);
  // After a request at `asked_at`; without one if that is absent.
  void end(const OpenLease& open, std::string_view error, std::string_view reason,
           std::optional<SteadyTime> asked_at);
  // It is set aside, since settings or rules of this run pass it over.
  void hold(const OpenLease& open, PageHandler::Result result, const HoldReason& reason);
  // What must not be asked for now, for the reason that the result has as its error: it is held, or
  // where there is no room for that, its host is parked and asked again at `ask_at`.
  void hold_or_park(const OpenLease& open, PageHandler::Result result, HoldReason reason,
                    SteadyTime ask_at);
  void hold_refused(const OpenLease& open, std::string_view error);
  // Its host has no robots.txt to be had: it is left alone with its queue.
  void park(const OpenLease& open, std::string_view reason);
  // The name of its host does not exist; the frontier decides what that means.
  void lose(const OpenLease& open, const RobotsAnswer& robots, SteadyTime asked_at);
  void skip(const OpenLease& open, const Url& url, const UrlVerdict& verdict);
  // The host is left alone until `next_start`, and for its delay from `asked_at`, when it was asked
  // for something else; nothing: it was not.
  void release(const OpenLease& open, SteadyTime next_start, std::optional<SteadyTime> asked_at);
  void lease_ended(const OpenLease& open);
  // What a page leaves goes to the output; then its lease ends.
  void submit(const OpenLease& open, PageHandler::Result result);
  void renew_leases();

  // For the summary, if it failed.
  void note_failure(const OpenLease& open, const Outcome& outcome);
  // What is known of hosts that do not answer.
  void note_answer(const std::string& host, bool good);
  bool doubts_host(const OpenLease& open, std::optional<FailureReason> failure);

  CrawlContext& context_;
  const std::uint32_t shard_;
  std::unique_ptr<HttpClient> client_;
  PageHandler handler_;
  RobotsCache robots_;
  HostPageLimits page_limits_;
  // Leases whose origin's robots.txt is being fetched, by origin.
  std::unordered_map<std::string, std::vector<OpenLease>> waiting_for_robots_;
  std::unordered_map<std::string, HeldOrigin> held_origins_;  // CrawlContext has them, too
  SteadyTime first_held_ = SteadyTime::max();                 // none of these was before
  // Hosts that are asked for their robots.txt next, to see whether they answer at all.
  std::unordered_set<std::string> doubted_;
  // Requests in a row to a host without an answer; only of hosts where the last had none.
  std::unordered_map<std::string, std::uint32_t> silent_;
  std::unordered_set<std::uint64_t> leases_;  // whose requests have not ended
  SteadyTime renewed_ = std::chrono::steady_clock::now();
  bool has_room_ = true;  // for another lease, when it last asked for some
};

}  // namespace trawl
