// HttpClient and whole crawls against a server whose HTTP/1.x responses are mutated at random.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crawl_fixture.h"
#include "mutated_response.h"
#include "mutation_run.h"
#include "raw_server.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::check_mutated;
using test::client_of;
using test::Connection;
using test::is_late;
using test::kOk;
using test::mutated_response;
using test::MutatedResponse;
using test::mutation_options;
using test::mutation_seed;
using test::mutations;
using test::RawServer;
using test::run_until_idle;

constexpr std::size_t kAtOnce = 48;
constexpr std::uint64_t kResponsesOfOneServer =
    500;  // which keeps a thread for each connection it had

bool answer_mutated(Connection& client, std::uint64_t seed) {
  const MutatedResponse response = mutated_response(seed);
  for (const std::string& bytes : response.sends) {
    if (!client.send(bytes)) return false;
  }
  switch (response.end) {
    case MutatedResponse::End::kKeepAlive:
      return true;
    case MutatedResponse::End::kReset:
      return client.reset();
    case MutatedResponse::End::kStall:
      return client.stall();
    case MutatedResponse::End::kClose:
      break;
  }
  return false;
}

// "/m/5" is the fifth mutation, "/good/5" a good page.
bool answer(Connection& client, const std::string& target, std::uint64_t seed) {
  const std::size_t slash = target.rfind('/');
  if (target.starts_with("/m/")) {
    return answer_mutated(client, seed + std::strtoull(target.c_str() + slash + 1, nullptr, 10));
  }
  return client.reply(kOk, "good " + target.substr(slash + 1));
}

// Each mutated response is fetched once, and in between good ones, from the same server at another
// address, whose connections are its own, and from another server.
class MutationRun {
 public:
  MutationRun(std::uint64_t seed, HttpClient& client) : seed_(seed), client_(client) {}

  bool fetch(std::uint64_t first, std::uint64_t count) {
    const auto handler = [this](Connection& client, const std::string& target) {
      return answer(client, target, seed_);
    };
    const RawServer mutated(handler, "0.0.0.0");
    const RawServer good(handler);
    next_ = first;
    end_ = first + count;
    start_next_ = [&] {
      if (next_ == end_) return;
      const std::uint64_t number = next_++;
      fetch_mutated(mutated.url("/m/" + std::to_string(number), "127.0.0.1"), number);
      if (number % 4 != 0) return;
      fetch_good(mutated.url("/good/" + std::to_string(number), "127.0.0.2"), number);
      fetch_good(good.url("/good/" + std::to_string(number)), number);
    };
    for (std::size_t i = 0; i < kAtOnce; ++i)
      start_next_();
    if (!run_until_idle(client_)) return false;
    // What the mutated ones left behind harms the next one nowhere.
    fetch_good(mutated.url("/good/1", "127.0.0.1"), 1);
    return run_until_idle(client_);
  }

  const std::map<std::string, int>& outcomes() const { return outcomes_; }
  std::uint64_t good() const { return good_; }

 private:
  void fetch_mutated(const std::string& url, std::uint64_t number) {
    client_.start(
        {.url = url, .max_body = test::kMutationBody, .cookie_jar = number % 2 == 0 ? "jar" : ""},
        [this, number](const HttpResponse& got) {
          check_mutated(got, seed_ + number);
          ++outcomes_[std::string(to_string(got.failure))];
          start_next_();
        });
  }
  void fetch_good(const std::string& url, std::uint64_t number, int tries = 3) {
    client_.start({.url = url, .max_body = 1000},
                  [this, url, number, tries](const HttpResponse& got) {
                    if (got.connection_was_stale || (is_late(got) && tries > 1))
                      return fetch_good(url, number, tries - 1);
                    ++good_;
                    EXPECT_EQ(got.error, "") << url;
                    EXPECT_EQ(got.body, "good " + std::to_string(number)) << url;
                  });
  }

  const std::uint64_t seed_;
  HttpClient& client_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
  std::function<void()> start_next_;
  std::map<std::string, int> outcomes_;
  std::uint64_t good_ = 0;
};

void fetch_mutations(std::uint64_t usual) {
  const std::uint64_t count = mutations(usual);
  const auto client = client_of(mutation_options());
  MutationRun run(mutation_seed(), *client);
  for (std::uint64_t first = 0; first < count; first += kResponsesOfOneServer) {
    if (!run.fetch(first, std::min(kResponsesOfOneServer, count - first))) return;
    if (::testing::Test::HasFailure()) return;
  }
  for (const auto& [failure, times] : run.outcomes())
    std::printf("%6d %s\n", times, failure.empty() ? "no failure" : failure.c_str());
  EXPECT_GE(run.good(), count / 2);
  EXPECT_GE(run.outcomes().size(), std::min<std::size_t>(count / 100, 5)) << "they are too alike";
}

TEST(MutatedResponses, HarmNoFetchButTheirOwn) {
  fetch_mutations(2'000);
}

TEST(MutatedResponsesSlow, HarmNoFetchButTheirOwn) {
  fetch_mutations(100'000);
}

// Each URL of the crawl has its one line, the good ones a good one.
TEST(MutatedResponses, EndNoCrawl) {
  const std::uint64_t count = mutations(500);
  const std::uint64_t seed = mutation_seed();
  const auto links = [&](const char* to) {
    std::string page;
    for (std::uint64_t i = 0; i < count; ++i)
      page += "<a href='" + (to + std::to_string(i)) + "'>a</a>\n";
    return page;
  };
  const auto serve = [&](Connection& client, const std::string& target) {
    if (target == "/") return client.reply(kOk, links("/m/"));
    if (target == "/good") return client.reply(kOk, links("/good/"));
    if (target == "/robots.txt") return client.reply("HTTP/1.1 404 None\r\n", "");
    return answer(client, target, seed);
  };
  const RawServer mutated(serve);
  const RawServer good(serve, "127.0.0.2");
  const test::TemporaryDirectory directory;
  CrawlConfig config = test::fast_config(directory, {mutated.url("/"), good.url("/good")});
  config.politeness.retries = 0;
  config.politeness.host_failures = 0;
  config.politeness.per_host_connections = 24;
  config.fetch.connections = 64;
  config.fetch.first_byte_timeout = test::patient(std::chrono::milliseconds(3000));
  config.fetch.timeout = test::patient(std::chrono::milliseconds(30'000));
  config.fetch.min_speed = 1;
  config.fetch.min_speed_time = test::patient(std::chrono::milliseconds(3000));
  EXPECT_TRUE(test::run(config));
  std::map<std::string, int> lines;
  for (const test::Json& page : test::pages_of(config)) {
    const std::string url = page["url"];
    ++lines[url];
    if (url.starts_with(good.url("/good/"))) {
      EXPECT_EQ(page["status"], 200) << page;
      EXPECT_TRUE(page["error"].is_null()) << page;
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(lines[mutated.url("/m/" + std::to_string(i))], 1) << i;
    EXPECT_EQ(lines[good.url("/good/" + std::to_string(i))], 1) << i;
  }
}

}  // namespace
}  // namespace trawl
