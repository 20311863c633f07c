// What the Resolver makes of the answers of name servers: good, bad and none.
#include <iostream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/http/resolver.h"
#include "tests/crawler/dns_server.h"
#include "tests/crawler/resolver_loop.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::DnsServer;
using test::one_address;
using test::options_for;
using test::ResolverLoop;
using test::silence;
using test::dns::Answer;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
namespace dns = test::dns;

// What a host resolves to by a server of that kind.
Resolution resolve_one(const DnsServer::Handler& handler) {
  DnsServer server(handler);
  return ResolverLoop(options_for(server)).get("host.test");
}

TEST(ResolverAnswers, AnswersAreKeptAsLongAsTheirTtl) {
  struct Case {
    std::uint32_t ttl;
    seconds age;
  };
  for (const auto& [ttl, age] : {Case{600, seconds(600)}, Case{0, seconds(1)}, Case{1, seconds(1)},
                                 Case{86'400, seconds(3600)}, Case{0x7FFFFFFF, seconds(3600)},
                                 Case{0x80000000, seconds(1)}}) {
    const auto before = Clock::now();
    const auto found = resolve_one([ttl = ttl](const std::string&, int type) -> Answer {
      if (type != dns::kA) return {};
      return {.records = {dns::a("192.0.2.7", 80'000), dns::a("192.0.2.8", ttl)}};
    });
    if (ttl < 80'000) {
      EXPECT_GE(found.expires, before + age) << ttl;
    }
    EXPECT_LE(found.expires, Clock::now() + age) << ttl;
  }
}

TEST(ResolverAnswers, AliasesAreFollowedAndTheirTtlCounts) {
  const auto before = Clock::now();
  const auto found = resolve_one([](const std::string&, int type) -> Answer {
    Answer answer{.records = {dns::cname("one.test", 500), dns::cname("two.test", 20, "one.test"),
                              dns::cname("three.test", 500, "two.test")}};
    if (type == dns::kA) answer.records.push_back(dns::a("192.0.2.7", 300, "three.test"));
    return answer;
  });
  EXPECT_THAT(found.addresses, ElementsAre("192.0.2.7"));
  EXPECT_GE(found.expires, before + seconds(20));
  EXPECT_LE(found.expires, Clock::now() + seconds(20));
}

TEST(ResolverAnswers, AliasesInACircleEnd) {
  const auto found = resolve_one([](const std::string&, int) -> Answer {
    return {.records = {dns::cname("one.test"), dns::cname("host.test", 60, "one.test")}};
  });
  EXPECT_THAT(found.addresses, ElementsAre());
  EXPECT_NE(found.error, "");
}

// Names that do not exist, or have no address: that is known for negative_age.
TEST(ResolverAnswers, NoSuchHostIsRemembered) {
  for (const int code : {dns::kNxDomain, dns::kNoError}) {
    DnsServer server([code](const std::string&, int) -> Answer { return {.code = code}; });
    auto options = options_for(server);
    options.negative_age = seconds(77);
    ResolverLoop loop(options);
    const auto before = Clock::now();
    const Resolution found = loop.get("nowhere.test");
    EXPECT_THAT(found.addresses, ElementsAre());
    EXPECT_THAT(found.error, HasSubstr("nowhere.test"));
    EXPECT_FALSE(found.temporary);
    EXPECT_GE(found.expires, before + seconds(77));
    EXPECT_LE(found.expires, Clock::now() + seconds(77));
    const auto asked = server.queries().size();
    EXPECT_EQ(loop.get("nowhere.test").error, found.error);
    server.wait_for_sent();
    EXPECT_EQ(server.queries().size(), asked);
  }
}

// The servers' own trouble is forgotten sooner.
TEST(ResolverAnswers, FailedServersAreTemporary) {
  const std::pair<const char*, Answer> cases[] = {
      {"SERVFAIL", {.code = dns::kServFail}},
      {"REFUSED", {.code = dns::kRefused}},
      {"silence", {.silent = true}},
      {"an empty packet",
       {.change = [](const std::string&) { return std::vector<std::string>{""}; }}},
      {"another's answer",
       {.change =
            [](std::string reply) {
              reply[0] = static_cast<char>(~reply[0]);
              return std::vector<std::string>{reply};
            }}},
      {"a torn answer",
       {.records = {dns::a("192.0.2.7")},
        .change =
            [](std::string reply) {
              reply.resize(reply.size() - 2);
              return std::vector<std::string>{reply};
            }}},
  };
  for (const auto& [name, answer] : cases) {
    SCOPED_TRACE(name);
    DnsServer server([&answer = answer](const std::string&, int) { return answer; });
    auto options = options_for(server);
    options.timeout = milliseconds(140);
    ResolverLoop loop(options);
    const auto before = Clock::now();
    const Resolution found = loop.get("host.test");
    EXPECT_THAT(found.addresses, ElementsAre());
    EXPECT_THAT(found.error, HasSubstr("host.test"));
    EXPECT_TRUE(found.temporary);
    EXPECT_GE(found.expires, before + seconds(5));
    EXPECT_LE(found.expires, Clock::now() + seconds(5));
  }
}

TEST(ResolverAnswers, NoServerAtAllIsTemporary) {
  std::string nobody;
  { nobody = DnsServer(silence).address(); }
  ResolverOptions options;
  options.servers = {nobody};
  options.timeout = milliseconds(140);
  const Resolution found = ResolverLoop(options).get("host.test");
  EXPECT_THAT(found.error, HasSubstr("host.test"));
  EXPECT_TRUE(found.temporary);
}

TEST(ResolverAnswers, AFailureIsNeverKeptLongerThanAsked) {
  DnsServer server([](const std::string&, int) -> Answer { return {.code = dns::kServFail}; });
  auto options = options_for(server);
  options.negative_age = milliseconds(700);
  const Resolution found = ResolverLoop(options).get("host.test");
  EXPECT_LE(found.expires, Clock::now() + milliseconds(700));
}

TEST(ResolverAnswers, AFamilyWithoutAnswerDoesNotSpoilTheOther) {
  DnsServer server([](const std::string&, int type) -> Answer {
    if (type == dns::kAaaa) return {.silent = true};
    return {.records = {dns::a("192.0.2.7")}};
  });
  auto options = options_for(server);
  options.timeout = milliseconds(140);
  EXPECT_THAT(ResolverLoop(options).get("host.test").addresses, ElementsAre("192.0.2.7"));
}

TEST(ResolverAnswers, TheNextServerIsAskedIfOneFails) {
  std::string nobody;
  { nobody = DnsServer(silence).address(); }
  DnsServer silent(silence);
  DnsServer failing([](const std::string&, int) -> Answer { return {.code = dns::kServFail}; });
  DnsServer good(one_address);
  for (const std::string& first : {nobody, silent.address(), failing.address()}) {
    auto options = options_for(good);
    options.servers = {first, good.address()};
    options.timeout = milliseconds(1400);
    EXPECT_THAT(ResolverLoop(options).get("host.test").addresses, ElementsAre("192.0.2.7"));
  }
}

TEST(ResolverAnswers, WrongAnswersDoNotHideTheRightOne) {
  const auto found = resolve_one([](const std::string& name, int type) {
    Answer answer = one_address(name, type);
    answer.change = [](const std::string& reply) {
      std::string other_id = reply;
      other_id[1] = static_cast<char>(~other_id[1]);
      std::string other_name = reply;
      other_name[13] = 'x';
      return std::vector<std::string>{"", "short", other_id, other_name, reply};
    };
    return answer;
  });
  EXPECT_THAT(found.addresses, ElementsAre("192.0.2.7"));
}

TEST(ResolverAnswers, LongAnswersComeOverTcpAndAreCut) {
  DnsServer server([](const std::string&, int type) {
    Answer answer;
    for (int i = 0; i < 4000 && type == dns::kA; ++i)
      answer.records.push_back(
          dns::a("198.51." + std::to_string(i / 250) + "." + std::to_string(i % 250)));
    return answer;
  });
  ResolverLoop loop(options_for(server));
  const Resolution found = loop.get("host.test");
  EXPECT_EQ(found.addresses.size(), Resolver::kMaxAddresses);
  EXPECT_EQ(found.addresses[0], "198.51.0.0");
  EXPECT_GT(server.tcp_connections(), 0);
}

TEST(ResolverAnswers, DamagedAnswersAreSurvived) {
  const auto seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);  // used by the server's thread alone
  DnsServer server([&](const std::string&, int type) {
    Answer answer{.records = {dns::cname("alias.test"), dns::a("192.0.2.7", 60, "alias.test"),
                              dns::aaaa("2001:db8::7", 60, "alias.test")}};
    if (type == dns::kAaaa) std::swap(answer.records[1], answer.records[2]);
    answer.change = [&](std::string reply) {
      // The ID and the question mostly stay, or else the answer is passed over.
      const std::size_t first = random() % 20 == 0 ? 0 : 2;
      for (auto changes = random() % 6; changes > 0; --changes)
        reply[first + random() % (reply.size() - first)] = static_cast<char>(random());
      if (random() % 3 == 0) reply.resize(random() % reply.size());
      return std::vector<std::string>{reply};
    };
    return answer;
  });
  auto options = options_for(server);
  options.max_lookups = 100;
  options.timeout = milliseconds(140);
  ResolverLoop loop(options);
  constexpr int kHosts = 1000;
  int called = 0;
  for (int i = 0; i < kHosts; ++i) {
    loop.resolver().resolve("host" + std::to_string(i) + ".test", [&](const Resolution& found) {
      ++called;
      EXPECT_NE(found.addresses.empty(), found.error.empty());
      EXPECT_LE(found.expires, Clock::now() + std::chrono::hours(1));
    });
  }
  loop.run();
  EXPECT_EQ(called, kHosts);
}

}  // namespace
}  // namespace trawl
