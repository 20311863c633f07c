// HttpClient: requests that have to be let begin.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dns_server.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::DnsServer;
using test::kOk;
using test::quick;
using test::RawServer;
using Clock = std::chrono::steady_clock;
using When = StartGate::Answer::When;

// A gate with scripted answers, which records the calls.
struct ScriptedGate final : StartGate {
  explicit ScriptedGate(std::vector<Answer> script = {}) : answers(std::move(script)) {}

  Answer ask(std::string_view address) override {
    asked.emplace_back(address);
    if (asked.size() > answers.size()) return {When::kNow, Clock::now()};
    return answers[asked.size() - 1];
  }
  bool may_send() override { return sends; }
  void sent(std::optional<Time> when, std::string_view address) override {
    told.emplace_back(when);
    other_address = address;
  }

  std::vector<Answer> answers;
  std::vector<std::string> asked;
  std::vector<std::optional<Time>> told;
  std::string other_address;
  bool sends = true;
};

HttpResponse get_through(HttpClient& client, const std::string& url,
                         const std::shared_ptr<StartGate>& gate) {
  HttpResponse got;
  client.start(HttpRequest{.url = url, .max_body = 1 << 20, .gate = gate},
               [&](HttpResponse response) { got = std::move(response); });
  test::run_all(client);
  return got;
}

bool answer_ok(Connection& client, const std::string&) {
  return client.reply(kOk, "x");
}

TEST(HttpClientGate, IsAskedWithTheAddressThatWasLookedUpAndToldWhenTheRequestWasSent) {
  const RawServer server(answer_ok);
  const auto client = test::client_of(quick());
  for (int i = 0; i < 2; ++i) {  // the second time over the same connection
    const auto gate = std::make_shared<ScriptedGate>();
    const auto response = get_through(*client, server.url("/", "localhost"), gate);
    EXPECT_EQ(response.status, 200) << response.error;
    EXPECT_EQ(gate->asked, std::vector<std::string>{"127.0.0.1"});
    ASSERT_EQ(gate->told.size(), 1u);
    EXPECT_EQ(gate->told[0], response.sent);
    EXPECT_EQ(gate->other_address, "");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClientGate, ARequestThatHasToWaitGoesOutWhenItIsLetBegin) {
  const RawServer server(answer_ok);
  const auto begin = Clock::now();
  const auto gate = std::make_shared<ScriptedGate>(std::vector<StartGate::Answer>{
      {When::kSoon, begin + milliseconds(20)}, {When::kSoon, begin + milliseconds(40)}});
  const auto client = test::client_of(quick());
  const auto response = get_through(*client, server.url("/"), gate);
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(gate->asked.size(), 3u);
  EXPECT_GE(response.sent - begin, milliseconds(40));
}

TEST(HttpClientGate, ARequestThatIsSentAwayOpensNoConnection) {
  const RawServer server(answer_ok);
  const auto later = Clock::now() + std::chrono::hours(1);
  const auto gate =
      std::make_shared<ScriptedGate>(std::vector<StartGate::Answer>{{When::kLater, later}});
  const auto client = test::client_of(quick());
  const auto response = get_through(*client, server.url("/"), gate);
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.failure, FetchError::kAborted);
  EXPECT_EQ(response.not_before, later);
  EXPECT_TRUE(gate->told.empty());
  EXPECT_EQ(server.connections(), 0);
  EXPECT_EQ(client->active(), 0u);
}

// As after a standstill while it was connected.
TEST(HttpClientGate, IsAskedAgainWhenTheConnectionIsOpen) {
  const RawServer server(answer_ok);
  const auto client = test::client_of(quick());
  for (int i = 0; i < 2; ++i) {  // the second time over the same connection
    const auto gate = std::make_shared<ScriptedGate>();
    gate->sends = false;
    const auto response = get_through(*client, server.url("/"), gate);
    EXPECT_EQ(response.status, 0);
    EXPECT_EQ(response.failure, FetchError::kAborted);
    EXPECT_TRUE(response.not_before.has_value());
    EXPECT_EQ(gate->told, std::vector<std::optional<StartGate::Time>>{std::nullopt});
    EXPECT_EQ(server.requests().size(), static_cast<std::size_t>(i));
    EXPECT_EQ(get_through(*client, server.url("/"), std::make_shared<ScriptedGate>()).status, 200);
  }
}

TEST(HttpClientGate, IsToldOfARequestThatWasNotSentAndOfAnotherAddress) {
  const RawServer server(answer_ok, "127.0.0.2");
  // Nobody listens at the first address.
  const DnsServer dns([](const std::string&, int type) -> test::dns::Answer {
    if (type != test::dns::kA) return {};
    return {{test::dns::a("127.0.0.3"), test::dns::a("127.0.0.2")}};
  });
  HttpOptions options = quick();
  options.resolver.servers = {dns.address()};
  options.resolver.ip_version = IpVersion::kV4;
  const auto client = test::client_of(options);
  const auto gate = std::make_shared<ScriptedGate>();
  EXPECT_EQ(get_through(*client, server.url("/", "two.test"), gate).status, 200);
  EXPECT_EQ(gate->asked, std::vector<std::string>{"127.0.0.3"});
  EXPECT_EQ(gate->told.size(), 1u);
  EXPECT_EQ(gate->other_address, "127.0.0.2");
  // The connection that is kept decides from then on.
  const auto again = std::make_shared<ScriptedGate>();
  EXPECT_EQ(get_through(*client, server.url("/", "two.test"), again).status, 200);
  EXPECT_EQ(again->asked, std::vector<std::string>{"127.0.0.2"});
  EXPECT_EQ(server.connections(), 1);

  const auto refused = std::make_shared<ScriptedGate>();
  EXPECT_EQ(get_through(*client, server.url("/", "127.0.0.4"), refused).status, 0);
  ASSERT_EQ(refused->told.size(), 1u);
  EXPECT_EQ(refused->told[0], std::nullopt);
}

}  // namespace
}  // namespace trawl
