// Calls the C interface at random, with arguments good and bad, from two threads; for sanitizers.
// Each call must return a status, an error exactly if it fails, and results exactly if it does not.
//
//   random_calls SECONDS [SEED]
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "trawl/trawl.h"

#include "tests/support/temporary_directory.h"

namespace {

[[noreturn]] void fail(const char* what, trawl_status status, const char* message) {
  std::fprintf(stderr, "FAILED: %s: %s: %s\n", what, trawl_status_name(status), message);
  std::abort();
}

// The frontiers of a round, which both threads use.
struct Shared {
  std::vector<trawl_frontier*> frontiers;
};

class Caller {
 public:
  Caller(std::uint64_t seed, const Shared& shared, std::string directory)
      : random_(seed), shared_(shared), directory_(std::move(directory)) {}
  ~Caller() { free_all(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void run(int calls) {
    for (int i = 0; i < calls; ++i)
      call();
  }
  std::uint64_t made() const { return made_; }
  std::uint64_t succeeded() const { return succeeded_; }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::int64_t number() {
    switch (below(8)) {
      case 0:
        return INT64_MIN;
      case 1:
        return INT64_MAX;
      case 2:
        return -1;
      case 3:
        return static_cast<std::int64_t>(random_());
      default:
        return static_cast<std::int64_t>(below(2000));
    }
  }

  // A string that lives until the next call().
  trawl_str text() {
    if (one_in(40)) return {nullptr, below(9)};
    std::string made;
    switch (below(10)) {
      case 0:
        break;
      case 9:  // an assertion of Gumbo's fails
        made = "<table><svg><select><title><select></table><a href=http://a.example/>";
        break;
      case 1:
        made = "https://h" + std::to_string(below(5)) + ".example/" + std::string(below(5000), 'x');
        break;
      case 2:
        for (std::uint64_t i = below(64); i > 0; --i)
          made.push_back(static_cast<char>(below(256)));
        break;
      case 3:
        made = "<a href='?" + std::to_string(below(9)) + "'>\xff<base href=//x>" +
               std::string(below(300), '<') + "<title>";
        break;
      case 4:
        made = "User-agent: *\nDisallow: /*" + std::to_string(below(9)) +
               "$\nSitemap: http://a/\nCrawl-delay: 1e9";
        break;
      case 5:
        made = "<urlset><url><loc>/" + std::to_string(below(99)) + "</loc></url>" +
               (one_in(2) ? "</urlset>" : "");
        break;
      case 6:
        made = "h" + std::to_string(below(5)) + ".example";
        break;
      default:
        made = "https://h" + std::to_string(below(5)) + ".example/" + std::to_string(below(500));
    }
    kept_.push_back(std::move(made));
    return {kept_.back().data(), kept_.back().size()};
  }
  template <class Object>
  Object* any(const std::vector<Object*>& pool) {
    return pool.empty() || one_in(30) ? nullptr : pool[below(pool.size())];
  }
  trawl_frontier* frontier() { return any(shared_.frontiers); }
  std::uint64_t lease_id() {
    return lease_ids_.empty() || one_in(9) ? random_() : lease_ids_[below(lease_ids_.size())];
  }
  trawl_error** error() {
    error_ = reinterpret_cast<trawl_error*>(std::uintptr_t{8});  // must be replaced
    return one_in(5) ? nullptr : &error_;
  }

  // Checks what a call returned, and whether it kept to the rules for errors.
  bool done(const char* what, trawl_error** error, trawl_status status) {
    ++made_;
    if (status < TRAWL_OK || status > TRAWL_FORKED) fail(what, status, "not a status");
    if (error != nullptr) {
      if ((*error != nullptr) != (status != TRAWL_OK))
        fail(what, status, "error and status differ");
      if (trawl_error_status(*error) != status) fail(what, status, "another status in the error");
      if (status != TRAWL_OK && *trawl_error_message(*error) == '\0')
        fail(what, status, "an error without a message");
      trawl_error_free(*error);
    }
    succeeded_ += status == TRAWL_OK ? 1 : 0;
    return status == TRAWL_OK;
  }
  template <class Object>
  void keep(const char* what, bool succeeded, Object* object, std::vector<Object*>& pool) {
    if (succeeded != (object != nullptr)) fail(what, TRAWL_OK, "a result without success, or none");
    if (object != nullptr) pool.push_back(object);
  }
  template <class Struct>
  Struct* sized(Struct& out, void (*init)(Struct*)) {
    init(&out);
    if (one_in(20)) out.struct_size = below(2) * below(5000);
    if (out.struct_size > sizeof(Struct)) out.struct_size = sizeof(Struct);
    return one_in(40) ? nullptr : &out;
  }

  trawl_request request() {
    trawl_request made;
    trawl_request_init(&made);
    made.url = text();
    if (one_in(4)) made.key = text();
    if (one_in(4)) made.queue = text();
    if (one_in(4)) made.note = text();
    if (one_in(4)) made.parent = text();
    made.priority = static_cast<std::int32_t>(number());
    made.depth = static_cast<std::uint32_t>(number());
    if (one_in(3)) made.flags = static_cast<std::uint32_t>(below(17));
    if (one_in(4)) made.not_before_ms = number();
    if (one_in(2)) made.hold_reason = text();
    if (one_in(50)) made.struct_size = below(sizeof made);
    return made;
  }
  trawl_outcome outcome() {
    trawl_outcome made;
    trawl_outcome_init(&made);
    made.status = one_in(9) ? static_cast<std::int32_t>(number()) : 200;
    if (one_in(5)) made.error = text();
    if (one_in(5)) made.reason = text();
    if (one_in(5)) made.address = text();
    if (one_in(5)) made.note = text();
    made.has_note = one_in(5);
    made.not_requested = one_in(5);
    made.end_later = one_in(9);
    if (one_in(5)) made.started_after_us = number();
    if (one_in(5)) made.response_time_ms = number();
    if (one_in(9)) made.recrawl_at_ms = number();
    return made;
  }

  void call() {
    kept_.clear();
    kept_.reserve(256);
    switch (below(6)) {
      case 0:
        return call_filter();
      case 1:
        return call_document();
      case 2:
        return call_state();
      default:
        return call_frontier();
    }
  }

  void call_frontier() {
    trawl_error** const e = error();
    switch (below(9)) {
      case 0:
      case 1: {
        std::vector<trawl_request> some;
        for (std::uint64_t i = below(20); i > 0; --i)
          some.push_back(request());
        std::vector<std::uint8_t> answers(some.size());
        done("offer", e,
             trawl_frontier_offer(frontier(), some.data(), some.size(),
                                  one_in(3) ? nullptr : answers.data(),
                                  static_cast<std::uint32_t>(below(3)), e));
        return;
      }
      case 2: {
        std::vector<trawl_str> some;
        for (std::uint64_t i = below(50); i > 0; --i)
          some.push_back(text());
        done("offer_urls", e,
             trawl_frontier_offer_urls(frontier(), some.data(), some.size(), nullptr, TRAWL_NO_WAIT,
                                       e));
        return;
      }
      case 3:
      case 4: {
        trawl_leases* leases = nullptr;
        const bool got =
            done("lease", e,
                 trawl_frontier_lease(frontier(), one_in(20) ? SIZE_MAX : below(9),
                                      static_cast<std::int64_t>(below(3)), &leases, e));
        keep("lease", got, leases, leases_);
        for (std::size_t i = 0; i < trawl_leases_count(leases); ++i) {
          trawl_lease lease;
          trawl_lease_init(&lease);
          if (trawl_leases_get(leases, i, &lease, nullptr) == TRAWL_OK)
            lease_ids_.push_back(lease.id);
        }
        if (leases_.size() > 20) {
          trawl_leases_free(leases_.front());
          leases_.erase(leases_.begin());
        }
        return;
      }
      case 5: {
        const trawl_outcome ended = outcome();
        std::array<trawl_request, 3> links = {request(), request(), request()};
        done("complete", e,
             trawl_frontier_complete(frontier(), lease_id(), one_in(30) ? nullptr : &ended,
                                     links.data(), below(4), nullptr, e));
        return;
      }
      case 6: {
        const trawl_outcome ended = outcome();
        trawl_verdict verdict;
        done("fail", e,
             trawl_frontier_fail(frontier(), lease_id(), static_cast<std::int32_t>(below(9)),
                                 number(), one_in(2) ? nullptr : &ended,
                                 sized(verdict, trawl_verdict_init), e));
        return;
      }
      case 7: {
        const trawl_outcome ended = outcome();
        if (one_in(2)) {
          done("hold", e,
               trawl_frontier_hold(frontier(), lease_id(), text(), random_(),
                                   static_cast<std::uint32_t>(below(6)),
                                   one_in(2) ? nullptr : &ended, e));
        } else {
          done("release", e, trawl_frontier_release(frontier(), lease_id(), number(), number(), e));
        }
        return;
      }
      default: {
        trawl_turn turn;
        if (one_in(3)) {
          done("fetched", e, trawl_frontier_fetched(frontier(), lease_id(), number(), e));
        } else if (one_in(2)) {
          done("renew", e, trawl_frontier_renew(frontier(), lease_id(), e));
        } else if (done("start", e,
                        one_in(2)
                            ? trawl_frontier_start(frontier(), lease_id(), text(),
                                                   sized(turn, trawl_turn_init), e)
                            : trawl_frontier_start_elsewhere(frontier(), text(), text(),
                                                             sized(turn, trawl_turn_init), e))) {
          trawl_error** const again = error();
          done("sent", again, trawl_frontier_sent(frontier(), &turn, number(), text(), again));
        }
      }
    }
  }

  void call_state() {
    trawl_error** const e = error();
    switch (below(14)) {
      case 13: {
        trawl_set_aside* urls = nullptr;
        if (done("set_aside", e,
                 trawl_frontier_set_aside(frontier(), text(), below(9), &urls, e)) !=
            (urls != nullptr))
          fail("set_aside", TRAWL_OK, "a result without success");
        trawl_set_aside_url url;
        for (std::size_t i = 0; i <= trawl_set_aside_count(urls); ++i)
          done("set_aside_get", nullptr,
               trawl_set_aside_get(urls, i, sized(url, trawl_set_aside_url_init), nullptr));
        trawl_set_aside_free(urls);
        return;
      }
      case 0: {
        trawl_host_settings settings;
        trawl_host_settings* const given = sized(settings, trawl_host_settings_init);
        settings.set = static_cast<std::uint32_t>(below(one_in(9) ? 200 : 64));
        settings.delay_ms = number();
        settings.leases = static_cast<std::uint32_t>(number());
        settings.limit = static_cast<std::uint64_t>(number());
        settings.address = text();
        settings.blocked_until_ms = number();
        done("set_host", e, trawl_frontier_set_host(frontier(), text(), given, e));
        return;
      }
      case 1:
      case 2: {
        trawl_hosts* hosts = nullptr;
        const bool got =
            one_in(2)
                ? done("hosts", e, trawl_frontier_hosts(frontier(), text(), below(9), &hosts, e))
                : done("host", e, trawl_frontier_host(frontier(), text(), &hosts, e));
        if (got != (hosts != nullptr)) fail("hosts", TRAWL_OK, "a result without success");
        trawl_host host;
        trawl_host_init(&host);
        for (std::size_t i = 0; i < trawl_hosts_count(hosts); ++i)
          done("hosts_get", nullptr, trawl_hosts_get(hosts, i, &host, nullptr));
        trawl_hosts_free(hosts);
        return;
      }
      case 3:
        if (one_in(4))
          done("drop", e, trawl_frontier_drop_host(frontier(), text(), nullptr, e));
        else if (e != nullptr)
          *e = nullptr;
        return;
      case 4: {
        trawl_retry which;
        trawl_retry* const given = sized(which, trawl_retry_init);
        which.state = static_cast<std::int32_t>(below(4));
        if (one_in(2)) which.reason = text();
        if (one_in(2)) which.key = text();
        which.last_status = static_cast<std::int32_t>(below(3)) - 1;
        done("retry", e, trawl_frontier_retry(frontier(), given, nullptr, e));
        return;
      }
      case 5: {
        trawl_found* found = nullptr;
        const bool got = done("lookup", e, trawl_frontier_lookup(frontier(), text(), &found, e));
        if (got != (found != nullptr)) fail("lookup", TRAWL_OK, "a result without success");
        trawl_url_state state;
        done("found_get", nullptr,
             trawl_found_get(found, sized(state, trawl_url_state_init), nullptr));
        trawl_found_free(found);
        return;
      }
      case 6: {
        trawl_progress progress;
        done("progress", e,
             trawl_frontier_progress(frontier(), sized(progress, trawl_progress_init), e));
        return;
      }
      case 7: {
        trawl_stats stats;
        done("stats", e, trawl_frontier_stats(frontier(), sized(stats, trawl_stats_init), e));
        return;
      }
      case 8:
        done("flush", e, trawl_frontier_flush(frontier(), e));
        return;
      case 9:
        done("checkpoint", e,
             one_in(9) ? trawl_frontier_checkpoint(frontier(), e)
                       : trawl_frontier_request_checkpoint(frontier(), e));
        return;
      case 10: {
        std::int64_t due = 0;
        done("next_due", e, trawl_frontier_next_due(frontier(), one_in(9) ? nullptr : &due, e));
        return;
      }
      case 11: {
        const int fd = trawl_frontier_event_fd(frontier(), e);
        if (e != nullptr) {
          if ((fd < 0) != (*e != nullptr)) fail("event_fd", TRAWL_OK, "error and result differ");
          trawl_error_free(*e);
        }
        return;
      }
      default:
        if (one_in(60))
          done("close", e, trawl_frontier_close(frontier(), e));
        else if (e != nullptr)
          *e = nullptr;
    }
  }

  void call_filter() {
    trawl_error** const e = error();
    if (filters_.size() < 3 || one_in(200)) {
      trawl_filter_options options;
      const trawl_filter_options* const given = sized(options, trawl_filter_options_init);
      options.kind = static_cast<std::int32_t>(below(7));
      options.capacity = below(3) * below(2000);
      options.false_positive_rate = one_in(5) ? static_cast<double>(number()) : 1e-3;
      if (one_in(9)) options.bits = below(1 << 20);
      if (one_in(9)) options.hashes = static_cast<std::uint32_t>(below(99));
      trawl_filter* filter = nullptr;
      const bool got = done("filter_create", e, trawl_filter_create(given, &filter, e));
      keep("filter_create", got, filter, filters_);
      return;
    }
    trawl_filter* const filter = any(filters_);
    std::int32_t answer = 0;
    std::vector<trawl_str> keys;
    switch (below(9)) {
      case 0:
        done("add", e, trawl_filter_add(filter, text(), &answer, e));
        return;
      case 1:
        done("contains", e,
             trawl_filter_contains(filter, text(), one_in(20) ? nullptr : &answer, e));
        return;
      case 2:
        done("remove", e, trawl_filter_remove(filter, text(), &answer, e));
        return;
      case 3:
      case 4: {
        for (std::uint64_t i = below(200); i > 0; --i)
          keys.push_back(text());
        std::vector<std::uint8_t> answers(keys.size());
        std::size_t ones = 0;
        done("batch", e,
             one_in(2) ? trawl_filter_add_batch(filter, keys.data(), keys.size(), answers.data(),
                                                &ones, e)
                       : trawl_filter_contains_batch(filter, keys.data(), keys.size(), nullptr,
                                                     nullptr, e));
        return;
      }
      case 5:
        done("merge", e, trawl_filter_merge(filter, any(filters_), e));
        return;
      case 6: {
        trawl_filter_stats stats;
        done("filter_stats", e,
             trawl_filter_get_stats(filter, sized(stats, trawl_filter_stats_init), e));
        return;
      }
      case 7: {
        const std::string path = directory_ + "/filter";
        const trawl_str name = one_in(9) ? text() : trawl_str{path.data(), path.size()};
        // A random name could be a file anywhere.
        if (name.data == path.data() && one_in(2)) {
          done("save", e, trawl_filter_save(filter, name, e));
          return;
        }
        trawl_filter* opened = nullptr;
        const bool got =
            done("filter_open", e, trawl_filter_open(name, below(2) * below(1 << 20), &opened, e));
        keep("filter_open", got, opened, filters_);
        if (filters_.size() > 8) {
          trawl_filter_free(filters_.front());
          filters_.erase(filters_.begin());
        }
        return;
      }
      default: {
        trawl_filter_size size;
        done("size_for", e,
             trawl_filter_size_for(static_cast<std::int32_t>(below(7)),
                                   static_cast<std::uint64_t>(number()),
                                   one_in(3) ? static_cast<double>(number()) : 1e-4,
                                   sized(size, trawl_filter_size_init), e));
      }
    }
  }

  void call_document() {
    trawl_error** const e = error();
    trawl_url* const url = any(urls_);
    switch (below(6)) {
      case 0: {
        trawl_url* parsed = nullptr;
        const bool got = done("parse", e, trawl_url_parse(text(), url, &parsed, e));
        keep("parse", got, parsed, urls_);
        trawl_url_get(parsed, static_cast<std::int32_t>(number()));
        if (urls_.size() > 50) {
          trawl_url_free(urls_.front());
          urls_.erase(urls_.begin());
        }
        return;
      }
      case 1: {
        const trawl_str rules[] = {trawl_str_of("sort_query"), text()};
        trawl_canonicalizer* canonicalizer = nullptr;
        const bool got = done("canonicalizer", e,
                              trawl_canonicalizer_create(rules, below(3), &canonicalizer, e));
        if (got != (canonicalizer != nullptr)) fail("canonicalizer", TRAWL_OK, "result and status");
        trawl_text* key = nullptr;
        trawl_error** const again = error();
        done("key", again, trawl_canonicalizer_key(canonicalizer, url, &key, again));
        trawl_text_get(key);
        trawl_text_free(key);
        trawl_canonicalizer_free(canonicalizer);
        return;
      }
      case 2: {
        trawl_robots* robots = nullptr;
        done("robots", e, trawl_robots_parse(text(), &robots, e));
        std::int32_t allowed = 0;
        std::int64_t delay = 0;
        done("allowed", nullptr, trawl_robots_allowed(robots, text(), url, &allowed, nullptr));
        done("crawl_delay", nullptr, trawl_robots_crawl_delay(robots, text(), &delay, nullptr));
        trawl_robots_sitemap(robots, below(3));
        trawl_robots_free(robots);
        return;
      }
      case 3:
      case 4: {
        trawl_link_options options;
        trawl_link_options* const given = sized(options, trawl_link_options_init);
        options.kinds = static_cast<std::uint32_t>(below(one_in(9) ? 300 : 128));
        options.texts = one_in(2);
        options.max_text = one_in(2) ? 0 : below(1000);
        if (one_in(3)) options.content_type = text();
        trawl_links* links = nullptr;
        done("links", e, trawl_links_extract(text(), url, one_in(3) ? nullptr : given, &links, e));
        trawl_link link;
        trawl_link_init(&link);
        for (std::size_t i = 0; i < trawl_links_count(links); ++i)
          done("links_get", nullptr, trawl_links_get(links, i, &link, nullptr));
        trawl_page page;
        done("page", nullptr, trawl_links_page(links, sized(page, trawl_page_init), nullptr));
        trawl_links_free(links);
        return;
      }
      default: {
        trawl_sitemap* sitemap = nullptr;
        done("sitemap", e, trawl_sitemap_parse(text(), url, &sitemap, e));
        trawl_sitemap_entry entry;
        trawl_sitemap_entry_init(&entry);
        for (std::size_t i = 0; i <= trawl_sitemap_count(sitemap); ++i)
          done("sitemap_get", nullptr, trawl_sitemap_get(sitemap, i, &entry, nullptr));
        trawl_sitemap_kind(sitemap);
        trawl_sitemap_free(sitemap);
      }
    }
  }

  void free_all() {
    for (trawl_leases* one : leases_)
      trawl_leases_free(one);
    for (trawl_filter* one : filters_)
      trawl_filter_free(one);
    for (trawl_url* one : urls_)
      trawl_url_free(one);
  }

  std::mt19937_64 random_;
  const Shared& shared_;
  const std::string directory_;
  std::vector<std::string> kept_;
  trawl_error* error_ = nullptr;
  std::vector<trawl_leases*> leases_;
  std::vector<std::uint64_t> lease_ids_;
  std::vector<trawl_filter*> filters_;
  std::vector<trawl_url*> urls_;
  std::uint64_t made_ = 0;
  std::uint64_t succeeded_ = 0;
};

trawl_frontier* opened(const std::string& directory, bool in_memory) {
  trawl_frontier_options options;
  trawl_frontier_options_init(&options);
  options.expected_urls = 1000;
  options.max_memory = 64u << 20;
  options.delay_ms = 1;
  options.leases_per_host = 3;
  options.ledger = 1;
  if (!in_memory) options.directory = {directory.data(), directory.size()};
  trawl_frontier* frontier = nullptr;
  trawl_error* error = nullptr;
  const trawl_status status = in_memory ? trawl_frontier_open_in_memory(&options, &frontier, &error)
                                        : trawl_frontier_open(&options, &frontier, &error);
  if (status != TRAWL_OK) fail("open", status, trawl_error_message(error));
  return frontier;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: random_calls SECONDS [SEED]\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const trawl::test::TemporaryDirectory directory;
  std::uint64_t made = 0;
  std::uint64_t succeeded = 0;
  // A frontier on disk is opened again by later rounds, whatever the calls did to it.
  do {
    Shared shared;
    shared.frontiers = {opened(directory / "state", false), opened("", true)};
    Caller first(seed++, shared, directory / "a");
    Caller second(seed++, shared, directory / "b");
    std::filesystem::create_directory(directory / "a");
    std::filesystem::create_directory(directory / "b");
    std::thread other([&] { second.run(3000); });
    first.run(3000);
    other.join();
    for (trawl_frontier* const frontier : shared.frontiers)
      trawl_frontier_free(frontier);
    made += first.made() + second.made();
    succeeded += first.succeeded() + second.succeeded();
  } while (std::chrono::steady_clock::now() < end);
  std::printf("%llu calls, %llu of them successful\n", static_cast<unsigned long long>(made),
              static_cast<unsigned long long>(succeeded));
  return succeeded * 4 > made ? 0 : 1;  // else the arguments are too wild to test anything
}
