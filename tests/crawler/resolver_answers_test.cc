// What the Resolver makes of the answers of name servers: good, bad and none.
#include <atomic>
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

TEST(ResolverAnswers, RecordsAreKeptIfTheyAreWanted) {
  DnsServer server([](const std::string& name, int type) -> Answer {
    if (name != "host.test") return {.records = {dns::a("192.0.2.1", 5)}};
    Answer answer{.records = {dns::cname("one.test", 500), dns::cname("two.test", 20, "one.test")}};
    if (type == dns::kA) {
      answer.records.push_back(dns::a("192.0.2.8", 300, "two.test"));
      answer.records.push_back(dns::a("192.0.2.7", 86'400, "two.test"));
    } else {
      answer.records.push_back(dns::aaaa("2001:db8::1", 0, "two.test"));
    }
    return answer;
  });
  ResolverOptions options = options_for(server);
  EXPECT_EQ(ResolverLoop(options).get("host.test").lookup, nullptr) << "nobody asked for them";
  options.keep_records = true;
  ResolverLoop loop(options);
  const auto before = std::chrono::system_clock::now();
  const auto lookup = loop.get("host.test").lookup;
  ASSERT_NE(lookup, nullptr);
  EXPECT_EQ(lookup->host, "host.test");
  EXPECT_EQ(lookup->server, "127.0.0.1");
  EXPECT_GE(lookup->asked_at, before);
  EXPECT_LE(lookup->asked_at, std::chrono::system_clock::now());
  EXPECT_THAT(lookup->addresses, ElementsAre("192.0.2.7", "192.0.2.8", "2001:db8::1"));
  EXPECT_EQ(lookup->records,
            "host.test.\t500\tIN\tCNAME\tone.test.\n"
            "one.test.\t20\tIN\tCNAME\ttwo.test.\n"
            "two.test.\t300\tIN\tA\t192.0.2.8\n"
            "two.test.\t86400\tIN\tA\t192.0.2.7\n"
            "two.test.\t0\tIN\tAAAA\t2001:db8::1\n");
  EXPECT_EQ(loop.get("host.test").lookup, lookup) << "from the cache";
  for (const char* known : {"127.0.0.1", "[::1]", "localhost", "a.localhost"})
    EXPECT_EQ(loop.get(known).lookup, nullptr) << known;
  options.servers.push_back(options.servers.front());
  EXPECT_EQ(ResolverLoop(options).get("host.test").lookup->server, "") << "one of two";
}

TEST(ResolverAnswers, AliasesInACircleEnd) {
  const auto found = resolve_one([](const std::string&, int) -> Answer {
    return {.records = {dns::cname("one.test"), dns::cname("host.test", 60, "one.test")}};
  });
  EXPECT_THAT(found.addresses, ElementsAre());
  EXPECT_NE(found.error, "");
}

// Names that do not exist, or have no address: who asks again in some seconds asks the servers, and
// only once they have said so for a while it is known for negative_age.
TEST(ResolverAnswers, NoSuchHostIsRememberedOnceItIsSure) {
  for (const int code : {dns::kNxDomain, dns::kNoError}) {
    DnsServer server([code](const std::string&, int) -> Answer { return {.code = code}; });
    auto options = options_for(server);
    options.negative_age = seconds(77);
    options.denial_sure_after = milliseconds(500);
    ResolverLoop loop(options);
    const Resolution first = loop.get("nowhere.test");
    EXPECT_THAT(first.addresses, ElementsAre());
    EXPECT_THAT(first.error, HasSubstr("nowhere.test"));
    EXPECT_FALSE(first.temporary);
    EXPECT_TRUE(first.no_such_host);
    EXPECT_LE(first.expires, Clock::now() + seconds(1));
    const auto asked = server.queries().size();
    EXPECT_EQ(loop.get("nowhere.test").error, first.error);
    server.wait_for_sent();
    EXPECT_EQ(server.queries().size(), asked) << "those who ask at the same time share it";
    Resolution later = first;
    loop.run_until([&] {
      later = loop.get("nowhere.test");
      return later.expires > Clock::now() + seconds(2);
    });
    EXPECT_TRUE(later.no_such_host);
    EXPECT_EQ(later.denied_since, first.denied_since);
    EXPECT_GE(later.expires, first.denied_since + seconds(77));
    server.wait_for_sent();
    const auto asked_in_the_end = server.queries().size();
    EXPECT_GE(asked_in_the_end, 2 * asked);
    for (int i = 0; i < 1000; ++i)
      loop.get("nowhere.test");
    server.wait_for_sent();
    EXPECT_EQ(server.queries().size(), asked_in_the_end);
  }
}

TEST(ResolverAnswers, AHostThatCameToBeIsFoundThoughItWasDenied) {
  std::atomic<bool> exists = false;
  DnsServer server([&](const std::string& name, int type) -> Answer {
    return exists ? one_address(name, type) : Answer{.code = dns::kNxDomain};
  });
  auto options = options_for(server);
  options.negative_age = std::chrono::hours(24);
  ResolverLoop loop(options);
  EXPECT_TRUE(loop.get("new.test").no_such_host);
  exists = true;
  Resolution found;
  loop.run_until([&] { return !(found = loop.get("new.test")).addresses.empty(); });
  EXPECT_FALSE(found.no_such_host);
  EXPECT_THAT(found.addresses, ElementsAre("192.0.2.7"));
}

TEST(ResolverAnswers, ANameThatNoHostCanHaveIsOneThatDoesNotExist) {
  DnsServer server([](const std::string& name, int type) { return one_address(name, type); });
  auto options = options_for(server);
  options.ip_version = IpVersion::kV4;
  ResolverLoop loop(options);
  const std::string label(63, 'a');
  const std::string names[] = {label + "a.test", label + "." + label + "." + label + "." + label,
                               "a..test", ".", "[2001:db8::1]"};
  for (const std::string& name : names) {
    const Resolution found = loop.get(name);
    EXPECT_THAT(found.addresses, ElementsAre()) << name;
    EXPECT_NE(found.error, "") << name;
    EXPECT_TRUE(found.no_such_host) << name << ": " << found.error;
    EXPECT_FALSE(found.temporary) << name;
  }
  EXPECT_THAT(loop.get(label + ".test").addresses, ElementsAre("192.0.2.7"));
}

// Whatever the servers say of the other.
TEST(ResolverAnswers, AFamilyThatCouldNotBeAskedForMayHaveAddresses) {
  const Answer denials[] = {{.code = dns::kNxDomain}, {.code = dns::kNoError}};
  const Answer failures[] = {{.code = dns::kServFail}, {.code = dns::kRefused}, {.silent = true}};
  for (const Answer& denial : denials) {
    for (const Answer& failure : failures) {
      for (const int failing : {dns::kA, dns::kAaaa}) {
        DnsServer server(
            [&](const std::string&, int type) { return type == failing ? failure : denial; });
        auto options = options_for(server);
        options.timeout = milliseconds(70);
        const Resolution found = ResolverLoop(options).get("host.test");
        EXPECT_TRUE(found.temporary) << found.error;
        EXPECT_FALSE(found.no_such_host);
      }
    }
  }
}

TEST(ResolverAnswers, IPv6AloneIsKeptForAMomentWhileIPv4Fails) {
  DnsServer server([](const std::string&, int type) -> Answer {
    if (type == dns::kA) return {.code = dns::kServFail};
    return {.records = {dns::aaaa("2001:db8::7", 3000)}};
  });
  const Resolution found = ResolverLoop(options_for(server)).get("host.test");
  EXPECT_THAT(found.addresses, ElementsAre("2001:db8::7"));
  EXPECT_LE(found.expires, Clock::now() + seconds(5));
}

// Failures of the servers are cached only briefly.
TEST(ResolverAnswers, FailedServersAreTemporary) {
  const std::pair<const char*, Answer> cases[] = {
      {"SERVFAIL", {.code = dns::kServFail}},
      {"REFUSED", {.code = dns::kRefused}},
      {"NOTIMP", {.code = dns::kNotImp}},
      {"FORMERR", {.code = dns::kFormErr}},
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
    const Resolution found = loop.get("host.test");
    EXPECT_THAT(found.addresses, ElementsAre());
    EXPECT_THAT(found.error, HasSubstr("host.test"));
    EXPECT_TRUE(found.temporary);
    EXPECT_FALSE(found.no_such_host);
    EXPECT_LE(found.expires, Clock::now() + milliseconds(100));
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
  options.negative_age = milliseconds(0);
  const Resolution found = ResolverLoop(options).get("host.test");
  EXPECT_LE(found.expires, Clock::now());
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
