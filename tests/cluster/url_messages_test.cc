// Messages of inboxes and commands for owners, whole and damaged; commands are taken once.
#include "frontier/shared/url_messages.h"

#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/bucket_store.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/owner_command.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void expect_same(const UrlRequest& a, const UrlRequest& b) {
  EXPECT_EQ(a.url, b.url);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.redirects, b.redirects);
  EXPECT_EQ(a.not_before, b.not_before);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.again, b.again);
  EXPECT_EQ(a.seen_only, b.seen_only);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.queue, b.queue);
  ASSERT_EQ(a.hold.has_value(), b.hold.has_value());
  if (!a.hold) return;
  EXPECT_EQ(a.hold->reason, b.hold->reason);
  EXPECT_EQ(a.hold->rules, b.hold->rules);
  EXPECT_EQ(a.hold->always, b.hold->always);
}

void expect_same(const UrlMessage& a, const UrlMessage& b) {
  ASSERT_EQ(a.requests.size(), b.requests.size());
  for (std::size_t i = 0; i < a.requests.size(); ++i)
    expect_same(a.requests[i], b.requests[i]);
  EXPECT_EQ(a.given, b.given);
}

// Requests that use each member or not, at random.
class RandomRequests {
 public:
  explicit RandomRequests(unsigned seed) : random_(seed) {}

  std::vector<UrlRequest> some() {
    std::vector<UrlRequest> requests(random_() % 6);
    for (UrlRequest& one : requests) {
      one.url = bytes(1 + random_() % 200);
      one.depth = static_cast<std::uint32_t>(random_());
      if (coin() && &one != &requests[0]) one.parent = (&one - 1)->parent;
      if (coin()) one.parent = bytes(random_() % 100);
      if (coin()) one.priority = static_cast<std::int32_t>(random_());
      if (coin()) one.redirects = static_cast<std::uint32_t>(random_());
      if (coin()) one.not_before = SystemTime(milliseconds(static_cast<std::int32_t>(random_())));
      if (coin()) one.note = bytes(random_() % 50);
      one.again = coin();
      one.seen_only = coin();
      if (coin())
        one.hold = {.reason = bytes(1 + random_() % 20), .rules = random_(), .always = coin()};
      if (coin()) one.key = bytes(random_() % 50);
      if (coin()) one.queue = bytes(random_() % 50);
    }
    return requests;
  }
  // Of which some were stored before, perhaps.
  UrlMessage message() {
    UrlMessage message{.requests = some()};
    if (message.requests.empty() || coin()) return message;
    message.given.resize(message.requests.size());
    message.given[0].fingerprint = Fingerprint{.high = random_(), .low = random_()};
    message.given.back().fingerprint = Fingerprint{.high = random_(), .low = random_()};
    for (std::size_t i = 0; i < message.requests.size(); ++i) {
      GivenIdentity& given = message.given[i];
      if (!given.fingerprint) continue;
      given.queue = message.requests[i].queue;
      given.named = !given.queue.empty() && coin();
      message.requests[i].key = {};
      if (message.requests[i].seen_only && coin()) message.requests[i].url = {};
    }
    return message;
  }
  bool coin() { return random_() % 2 == 0; }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::string_view bytes(std::size_t size) {
    std::string text(size, ' ');
    for (char& c : text)
      c = static_cast<char>(random_());
    return *texts_.insert(text).first;
  }
  std::mt19937 random_;
  std::set<std::string> texts_;  // requests point into it
};

// Calls `use` with many damaged versions of `body`.
template <class Use>
void damage(RandomRequests& random, const std::string& body, const Use& use) {
  for (std::size_t size = 0; size < body.size(); ++size)
    use(body.substr(0, size));
  for (int i = 0; i < 50 && !body.empty(); ++i) {
    std::string damaged = body;
    for (std::size_t n = 1 + random.below(3); n > 0; --n)
      damaged[random.below(damaged.size())] ^= static_cast<char>(1 + random.below(255));
    if (random.coin()) damaged.insert(random.below(damaged.size()), 1 + random.below(5), '\xff');
    if (random.coin()) damaged.erase(random.below(damaged.size()), 1 + random.below(5));
    use(damaged);
  }
}

TEST(UrlMessages, RequestsComeBackAsTheyWere) {
  const unsigned seed = std::random_device()();
  fmt::print("seed {}\n", seed);
  RandomRequests random(seed);
  for (int round = 0; round < 1000; ++round) {
    const UrlMessage message = random.message();
    const std::string body = encode_requests(message.requests, message.given);
    const auto decoded = decode_requests(body);
    ASSERT_TRUE(decoded.has_value());
    expect_same(*decoded, message);
  }
}

// Damaged bytes are refused, or are a message in their own right: never read beyond their end.
TEST(UrlMessages, DamagedBytesAreRefusedOrMeanSomethingElse) {
  const unsigned seed = std::random_device()();
  fmt::print("seed {}\n", seed);
  RandomRequests random(seed);
  std::size_t refused = 0, accepted = 0;
  for (int round = 0; round < 300; ++round) {
    const UrlMessage message = random.message();
    const std::string body = encode_requests(message.requests, message.given);
    damage(random, body, [&](const std::string& damaged) {
      // A heap block of exactly that size, for the sanitizers.
      const std::vector<char> exact(damaged.begin(), damaged.end());
      const auto decoded = decode_requests({exact.data(), exact.size()});
      ++(decoded ? accepted : refused);
      if (damaged.size() < body.size() && body.starts_with(damaged)) {
        EXPECT_FALSE(decoded.has_value()) << "cut at " << damaged.size();
      }
      if (!decoded) return;
      const std::string encoded = encode_requests(decoded->requests, decoded->given);
      const auto again = decode_requests(encoded);
      ASSERT_TRUE(again.has_value());
      expect_same(*again, *decoded);
    });
  }
  fmt::print("{} refused, {} accepted\n", refused, accepted);
  EXPECT_GT(refused, accepted);
  EXPECT_FALSE(decode_requests("\x02").has_value()) << "a later format";
  EXPECT_FALSE(decode_requests("\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f").has_value());
}

// Crawlers of different versions read each other's messages.
TEST(UrlMessages, TheBytesAreThoseOfTheFormat) {
  const std::vector<UrlRequest> requests = {
      {.url = "http://a/", .depth = 2, .parent = "http://p/"},
      {.url = "http://b/", .priority = -1, .depth = 2, .parent = "http://p/", .again = true}};
  EXPECT_EQ(encode_requests(requests), std::string("\x01\x02"
                                                   "\x01\x09http://a/\x02\x09http://p/"
                                                   "\x46\x09http://b/\x02\xff\xff\xff\xff",
                                                   40));
}

TEST(UrlMessages, LargeOnesAreSplit) {
  const std::string url(20'000, 'u');
  UrlMessage message;
  for (std::uint64_t i = 0; i < 7; ++i) {
    message.requests.push_back({.url = url, .depth = static_cast<std::uint32_t>(i)});
    message.given.push_back({.fingerprint = Fingerprint{.high = i, .low = ~i}});
  }
  std::uint64_t found = 0;
  for (const std::string& body : split_requests(encode_requests(message.requests, message.given))) {
    EXPECT_LE(body.size(), kMostMessageBytes);
    const auto part = decode_requests(body).value();
    ASSERT_EQ(part.given.size(), part.requests.size());
    for (const GivenIdentity& given : part.given)
      EXPECT_EQ(given.fingerprint->high, found++);
  }
  EXPECT_EQ(found, 7u);
}

TEST(UrlMessages, IdsAreNeverUsedTwice) {
  std::set<MessageId> ids;
  for (int process = 0; process < 10; ++process) {
    MessageIds some;
    for (int i = 0; i < 100; ++i)
      EXPECT_TRUE(ids.insert(some.next()).second);
  }
}

std::vector<OwnerCommand> some_commands() {
  using Kind = OwnerCommand::Kind;
  std::vector<OwnerCommand> commands = {{.kind = Kind::kDropHost, .host = "a.test"},
                                        {.kind = Kind::kSetHost, .host = "a.test"},
                                        {.kind = Kind::kRetry},
                                        {.kind = Kind::kRetry,
                                         .which = {.state = SetAsideState::kFailed,
                                                   .key = "http://a/",
                                                   .host = "a",
                                                   .reason = "x",
                                                   .first_status = 500,
                                                   .last_status = 599}}};
  for (const SystemTime until : {HostSettings::kParked, HostSettings::kNotBlocked,
                                 SystemTime(milliseconds(1'700'000'000'123))})
    commands.push_back({.kind = Kind::kSetHost,
                        .host = "b.test",
                        .settings = {.delay = milliseconds(-5),
                                     .exact_delay = false,
                                     .leases = 3,
                                     .limit = HostSettings::kNoLimit,
                                     .address = "::1",
                                     .blocked_until = until}});
  return commands;
}

TEST(OwnerCommand, ComesBackAsItWasOrIsRefused) {
  const unsigned seed = std::random_device()();
  fmt::print("seed {}\n", seed);
  RandomRequests random(seed);
  for (const OwnerCommand& command : some_commands()) {
    const std::string body = encode_owner_command(command);
    const auto decoded = decode_owner_command(body);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(encode_owner_command(*decoded), body);
    EXPECT_EQ(decoded->host, command.host);
    EXPECT_EQ(decoded->settings.blocked_until, command.settings.blocked_until);
    EXPECT_EQ(decoded->settings.delay, command.settings.delay);
    EXPECT_EQ(decoded->settings.exact_delay, command.settings.exact_delay);
    EXPECT_EQ(decoded->settings.leases, command.settings.leases);
    EXPECT_EQ(decoded->settings.limit, command.settings.limit);
    EXPECT_EQ(decoded->settings.address, command.settings.address);
    EXPECT_EQ(decoded->which.state, command.which.state);
    EXPECT_EQ(decoded->which.key, command.which.key);
    EXPECT_EQ(decoded->which.last_status, command.which.last_status);
    damage(random, body, [&](const std::string& damaged) {
      const std::vector<char> exact(damaged.begin(), damaged.end());
      const auto other = decode_owner_command({exact.data(), exact.size()});
      if (damaged.size() < body.size() && body.starts_with(damaged)) {
        EXPECT_FALSE(other.has_value());
      }
    });
  }
}

class OwnerCommandTest : public test::RedisFixture {
 protected:
  static constexpr BucketId kCommanded = 5;
  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    store_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    const BucketStore::Claim claim{.bucket = kCommanded, .token = "a"};
    ASSERT_EQ(store_->claim(std::span(&claim, 1))[0].result.code, Code::kDone);
  }
  using Code = BucketStore::Written::Code;
  Code push(const MessageId& id, const std::string& host) {
    const BucketStore::Command command{
        .bucket = kCommanded, .message = {.id = id, .body = encode_owner_command({.host = host})}};
    return store_->push_commands(std::span(&command, 1))[0].code;
  }
  std::vector<std::string> hosts() {
    std::vector<std::string> hosts;
    const auto read = store_->read_commands(std::span(&kCommanded, 1));
    for (const InboxMessage& message : read[0].value())
      hosts.push_back(decode_owner_command(message.body).value().host);
    return hosts;
  }
  Code take(std::uint64_t number, std::vector<MessageId> ids) {
    BucketBatch batch;
    batch.commands_taken = std::move(ids);
    const RedisCommand command = store_->encode(kCommanded, "a", number, batch);
    return store_->apply(std::span(&command, 1))[0].code;
  }

  std::unique_ptr<BucketStore> store_;
  MessageIds ids_;
};

TEST_F(OwnerCommandTest, EachIsTakenOnce) {
  const MessageId first = ids_.next(), second = ids_.next(), third = ids_.next();
  EXPECT_EQ(push(first, "a.test"), Code::kDone);
  EXPECT_EQ(push(first, "a.test"), Code::kDone) << "sent again";
  EXPECT_EQ(push(second, "b.test"), Code::kDone);
  EXPECT_THAT(hosts(), ElementsAre("a.test", "b.test"));
  EXPECT_EQ(take(1, {second}), Code::kDone) << "wherever it is";
  EXPECT_EQ(take(2, {first}), Code::kDone);
  EXPECT_THAT(hosts(), IsEmpty());
  EXPECT_EQ(push(first, "a.test"), Code::kDone) << "sent again, after it was taken";
  EXPECT_EQ(push(second, "b.test"), Code::kDone);
  EXPECT_THAT(hosts(), IsEmpty());
  EXPECT_EQ(push(third, "c.test"), Code::kDone);
  EXPECT_THAT(hosts(), ElementsAre("c.test"));
  // The last 64 are remembered, however many there were.
  std::vector<MessageId> many = {third};
  for (int i = 0; i < 63; ++i)
    many.push_back(ids_.next());
  EXPECT_EQ(take(3, many), Code::kDone);
  EXPECT_EQ(push(third, "c.test"), Code::kDone);
  EXPECT_THAT(hosts(), IsEmpty());
  EXPECT_EQ(server_->cli({"hstrlen", "{crawl:5}m", "x"}), "1024");
}

TEST_F(OwnerCommandTest, ForeignAndDamagedOnesAreNamed) {
  server_->cli({"rpush", "{crawl:5}x", "short"});
  auto read = store_->read_commands(std::span(&kCommanded, 1));
  ASSERT_FALSE(read[0].has_value());
  EXPECT_THAT(read[0].error().message, HasSubstr("{crawl:5}x"));
  server_->cli({"del", "{crawl:5}x"});
  server_->cli({"set", "{crawl:5}x", "mine"});
  EXPECT_EQ(push(ids_.next(), "a.test"), Code::kFailed);
  EXPECT_EQ(take(1, {ids_.next()}), Code::kFailed);
}

}  // namespace
}  // namespace trawl
