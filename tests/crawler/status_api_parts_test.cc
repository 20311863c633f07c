// The parts of the status server that need no crawl.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "crawler/config/listen_address.h"
#include "crawler/status/access_rules.h"
#include "crawler/status/call_thread.h"
#include "crawler/status/control_socket.h"
#include "crawler/status/prometheus_text.h"
#include "crawler/status/status_token.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

TEST(ListenAddress, IsReadAsPeopleWriteIt) {
  const auto port = parse_listen_address("8088");
  ASSERT_TRUE(port);
  EXPECT_EQ(port->host, "127.0.0.1");
  EXPECT_EQ(port->port, 8088);
  EXPECT_TRUE(port->loopback);
  const auto v6 = parse_listen_address("[::1]:80");
  ASSERT_TRUE(v6);
  EXPECT_TRUE(v6->ipv6 && v6->loopback);
  EXPECT_TRUE(parse_listen_address("127.3.2.1:0")->loopback);
  EXPECT_TRUE(parse_listen_address("localhost:1")->loopback);
  EXPECT_FALSE(parse_listen_address("0.0.0.0:1")->loopback);
  EXPECT_FALSE(parse_listen_address("[::]:1")->loopback);
  for (const char* wrong : {"", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]",
                            "[127.0.0.1]:1", "example.com:80", "127.0.0.1:8o", ":80", "-1"})
    EXPECT_FALSE(parse_listen_address(wrong)) << wrong;
}

ApiRequest request_with(const std::string& host) {
  ApiRequest request;
  request.method = "GET";
  request.hosts = {host};
  return request;
}

TEST(AccessRules, KnowOurHosts) {
  const AccessRules local(*parse_listen_address("127.0.0.1:8088"), "secret", false);
  const auto answers = [](const AccessRules& rules, const std::string& host) {
    return !rules.refuse(request_with(host), AccessRules::Needs::kReading);
  };
  for (const char* ours : {"127.0.0.1:8088", "localhost:8088", "LOCALHOST:8088", "[::1]:8088"})
    EXPECT_TRUE(answers(local, ours)) << ours;
  for (const char* other : {"", "127.0.0.1", "127.0.0.1:80", "evil.example:8088", "localhost",
                            "localhost.evil.example:8088", "127.0.0.1:8088x", "[::1:8088"})
    EXPECT_FALSE(answers(local, other)) << other;
  ApiRequest twice = request_with("127.0.0.1:8088");
  twice.hosts.push_back("127.0.0.1:8088");
  EXPECT_TRUE(local.refuse(twice, AccessRules::Needs::kReading));
  const AccessRules open(*parse_listen_address("0.0.0.0:8088"), "secret", false);
  EXPECT_TRUE(answers(open, "192.0.2.7:9000"));
  EXPECT_FALSE(answers(open, "evil.example:8088"));
}

// A name that only begins like ours may be anybody's, with our address (DNS rebinding).
TEST(AccessRules, OfOurNamesOnlyWholeOnesCount) {
  const AccessRules rules(*parse_listen_address("0.0.0.0:8088"), "secret", false,
                          {"www", "www.example.com"});
  const auto answers = [&rules](const std::string& host) {
    return !rules.refuse(request_with(host), AccessRules::Needs::kReading);
  };
  for (const char* ours : {"www", "WWW:9000", "www.example.com", "localhost", "[2001:db8::1]:8088"})
    EXPECT_TRUE(answers(ours)) << ours;
  for (const char* other : {"www.attacker.com", "www.attacker.com:8088", "www.", "xwww", "",
                            "www.example.com.attacker.com", "example.com"})
    EXPECT_FALSE(answers(other)) << other;
}

TEST(AccessRules, ChangesNeedTheToken) {
  const AccessRules rules(*parse_listen_address("127.0.0.1:8088"), "secret", false);
  ApiRequest request = request_with("127.0.0.1:8088");
  const auto status = [&] {
    const auto refused = rules.refuse(request, AccessRules::Needs::kChanging);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status(), 401);
  request.parameters = {{"token", "secret"}};
  EXPECT_EQ(status(), 401) << "not in the query of a change";
  request.authorization = "Bearer secret";
  EXPECT_EQ(status(), 200);
  request.authorization = "Bearer secre";
  EXPECT_EQ(status(), 401);
  request.authorization = "bearer secret";
  EXPECT_EQ(status(), 200);
  request.origins = {"http://127.0.0.1:8088"};
  EXPECT_EQ(status(), 200);
  request.origins = {"http://127.0.0.1:8089"};
  EXPECT_EQ(status(), 403);
}

TEST(PrometheusText, EscapesLabelsAndAddsBucketsUp) {
  PrometheusText out;
  out.metric("a_total", PrometheusText::Type::kCounter, "A.")
      .sample(std::uint64_t{3}, {{"reason", "say \"a\\b\"\n"}});
  const double bounds[] = {0.5, 1};
  const std::uint64_t counts[] = {2, 0, 1};
  out.metric("b_seconds", PrometheusText::Type::kHistogram, "B.").histogram(bounds, counts, 4.5);
  EXPECT_EQ(out.text(),
            "# HELP a_total A.\n# TYPE a_total counter\na_total{reason=\"say \\\"a\\\\b\\\" \"} 3\n"
            "# HELP b_seconds B.\n# TYPE b_seconds histogram\nb_seconds_bucket{le=\"0.5\"} 2\n"
            "b_seconds_bucket{le=\"1\"} 2\nb_seconds_bucket{le=\"+Inf\"} 3\nb_seconds_sum 4.5\n"
            "b_seconds_count 3\n");
}

TEST(StatusToken, IsKeptUnlessOthersMayReadIt) {
  const test::TemporaryDirectory directory;
  const auto first = status_token(directory.path());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(*status_token(directory.path()), *first);
  const std::string file = status_token_path(directory.path()).string();
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_NE(*status_token(directory.path()), *first);
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST(ControlSocket, ReplacesOnlySockets) {
  const test::TemporaryDirectory directory;
  {
    const auto socket = ControlSocket::open(directory.path());
    ASSERT_TRUE(socket) << socket.error().message;
    struct stat found {};
    ASSERT_EQ(::lstat(ControlSocket::path(directory.path()).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(ControlSocket::path(directory.path())));
  std::filesystem::create_directory(ControlSocket::path(directory.path()));
  EXPECT_FALSE(ControlSocket::open(directory.path()));
}

TEST(CallThread, RunsCallsInTheirOrderAndIsBounded) {
  CallThread thread(2);
  Mutex mutex;
  Condition changed;
  bool release = false;
  bool began = false;
  std::vector<int> ran;
  ASSERT_TRUE(thread.submit([&] {
    const MutexLock lock(mutex);
    began = true;
    changed.notify_all();
    while (!release)
      changed.wait(mutex);
    ran.push_back(1);
  }));
  {
    const MutexLock lock(mutex);
    while (!began)
      changed.wait(mutex);
  }
  const auto push = [&](int n) {
    return [&, n] {
      const MutexLock lock(mutex);
      ran.push_back(n);
      changed.notify_all();
    };
  };
  EXPECT_TRUE(thread.submit(push(2)));
  EXPECT_TRUE(thread.submit(push(3)));
  EXPECT_FALSE(thread.submit(push(4))) << "too many wait";
  {
    const MutexLock lock(mutex);
    release = true;
    changed.notify_all();
    while (ran.size() < 3)
      changed.wait(mutex);
    EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
  }
  thread.stop();
  EXPECT_FALSE(thread.submit([] {}));
}

}  // namespace
}  // namespace trawl
