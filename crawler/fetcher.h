// Fetcher: one thread of a crawl: leases URLs, fetches them, and completes them with their links.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/links.h"

#include "crawler/crawl_context.h"
#include "crawler/http/http_client.h"
#include "crawler/pages_writer.h"
#include "crawler/robots_cache.h"

namespace trawl {

class Fetcher {
 public:
  // Leases from `shard` and has at most `connections` leases open.
  static Result<std::unique_ptr<Fetcher>> create(CrawlContext& context, std::uint32_t shard,
                                                 std::size_t connections, const HttpOptions& http);

  // Works until the phase says to stop, or an error occurs.
  void run();
  // Makes run() look for work or a change of phase. From any thread.
  void wake() { client_->wake(); }

 private:
  struct OpenLease {
    Lease lease;
    SteadyTime leased_at;
    std::chrono::system_clock::time_point wall_time;
  };

  Fetcher(CrawlContext& context, std::uint32_t shard, std::size_t connections,
          std::unique_ptr<HttpClient> client);

  void take_leases();
  static std::chrono::milliseconds started_after(const OpenLease& open, SteadyTime sent);
  std::chrono::milliseconds idle_time() const;
  void begin(OpenLease open);
  void fetch(OpenLease open);
  // Asks for `ask_for` on behalf of `origin`.
  void fetch_robots(const std::string& origin, std::string ask_for, OpenLease first);
  void on_robots(const std::string& origin, const HttpResponse& response);
  void set_address(const std::string& host, const std::string& address);
  void set_crawl_delay(const std::string& host);
  void on_page(const OpenLease& open, HttpResponse response);
  std::vector<UrlRequest> follow(const OpenLease& open, const HttpResponse& response,
                                 PageRecord& page, Outcome& outcome, std::vector<Url>& targets);
  void follow_redirect(const OpenLease& open, const Url& url, const std::string& location,
                       PageRecord& page, Outcome& outcome, std::vector<Url>& targets);
  void follow_links(const OpenLease& open, const Url& url, const HttpResponse& response,
                    PageRecord& page, Outcome& outcome, std::vector<Url>& targets);
  void complete(const OpenLease& open, const Outcome& outcome,
                const std::vector<UrlRequest>& links);
  // After a request at `asked_at`; without one if that is absent.
  void fail(const OpenLease& open, std::string_view error, std::optional<SteadyTime> asked_at);
  void skip(const OpenLease& open, SkipReason reason);
  // The host is left alone until `next_start`, and for its delay from `asked_at`, when it was asked
  // for something else.
  void release(const OpenLease& open, SteadyTime next_start, SteadyTime asked_at);
  void lease_ended();

  CrawlContext& context_;
  const std::uint32_t shard_;
  const std::size_t connections_;
  std::unique_ptr<HttpClient> client_;
  LinkExtractor links_;
  PageLinks found_;  // on the page in hand
  RobotsCache robots_;
  // Leases whose origin's robots.txt is being fetched, by origin.
  std::unordered_map<std::string, std::vector<OpenLease>> waiting_for_robots_;
  std::size_t open_leases_ = 0;
};

}  // namespace trawl
