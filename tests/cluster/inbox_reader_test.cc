// Inboxes of a real redis-server, read by a thread while others write.
#include "frontier/shared/inbox_reader.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/message_ids.h"
#include "frontier/shared/url_messages.h"
#include "tests/cluster/redis_fixture.h"
#include "tests/cluster/wait_until.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::wait_until;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

MessageId id_of(std::size_t n) {
  MessageId id;
  const std::string text = fmt::format("{:016}", n);
  std::ranges::copy(text, id.begin());
  return id;
}

InboxMessage message(std::size_t n) {
  const std::string url = fmt::format("http://a.test/{}", n), note = fmt::format("note {}", n);
  const UrlRequest request{.url = url, .note = note};
  return {.id = id_of(n), .body = encode_requests(std::span(&request, 1))};
}

// An owner that keeps what it is given until the test says that it is durable.
class InboxReaderTest : public test::RedisFixture {
 protected:
  struct Taken {
    std::vector<MessageId> ids;
    std::vector<std::string> urls;
    InboxReader::Done done;
  };

  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    store_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    start({.soon = milliseconds(5), .idle = milliseconds(40), .after_failure = milliseconds(50)});
  }
  void TearDown() override {
    if (reader_) reader_->stop();
  }

  void start(InboxReader::Options options) {
    if (reader_) reader_->stop();
    auto client = RedisClient::connect({.addresses = {server_->address()},
                                        .connect_timeout = milliseconds(200),
                                        .answer_timeout = milliseconds(200)});
    ASSERT_TRUE(client.has_value()) << client.error().message;
    InboxReader::Events events;
    events.take = [this](BucketId bucket, std::span<const InboxReader::Message> messages,
                         InboxReader::Done done) {
      Taken taken{.ids = {}, .urls = {}, .done = std::move(done)};
      for (const InboxReader::Message& one : messages) {
        taken.ids.push_back(one.id);
        for (const UrlRequest& request : one.content.requests)
          taken.urls.push_back(fmt::format("{} {}", request.url, request.note));
      }
      const MutexLock lock(mutex_);
      ++calls_;
      EXPECT_FALSE(taken_.contains(bucket)) << "something is under way";
      taken_[bucket] = std::move(taken);
    };
    events.command = [this](BucketId bucket, const MessageId& id, const OwnerCommand& command,
                            InboxReader::Done done) {
      const MutexLock lock(mutex_);
      EXPECT_FALSE(commands_.contains(bucket)) << "something is under way";
      commands_[bucket] = {.ids = {id}, .urls = {command.host}, .done = std::move(done)};
    };
    events.damaged = [this](const Error& error) { note(error.message); };
    events.trouble = [this](const Error& error) { note("trouble: " + error.message); };
    events.recovered = [this] { note("recovered"); };
    reader_ = std::make_unique<InboxReader>(std::move(*client), BucketKeys("crawl"), true, options,
                                            std::move(events));
    reader_->start();
  }

  void push(BucketId bucket, std::size_t from, std::size_t to) {
    BucketStore::Push push{.bucket = bucket, .messages = {}};
    for (std::size_t n = from; n < to; ++n)
      push.messages.push_back(message(n));
    for (const auto& written : store_->push(std::span(&push, 1)))
      EXPECT_EQ(written.code, BucketStore::Written::Code::kDone);
  }
  void push_bytes(BucketId bucket, const std::string& bytes, const char* list = "i") {
    server_->cli({"rpush", fmt::format("{{crawl:{:x}}}{}", bucket, list), bytes});
  }
  std::size_t size(BucketId bucket, const char* list = "i") {
    return std::stoul(server_->cli({"llen", fmt::format("{{crawl:{:x}}}{}", bucket, list)}));
  }
  // Waits for something, and removes it here.
  Taken next(BucketId bucket) { return next_of(taken_, bucket); }
  Taken next_command(BucketId bucket) { return next_of(commands_, bucket); }
  // As the owner's batch would do.
  void finish(BucketId bucket, Taken taken, const char* list = "i") {
    for (std::size_t i = 0; i < taken.ids.size(); ++i)
      server_->cli({"lpop", fmt::format("{{crawl:{:x}}}{}", bucket, list)});
    taken.done({});
  }
  bool has(BucketId bucket) {
    const MutexLock lock(mutex_);
    return taken_.contains(bucket);
  }
  std::vector<std::string> notes() {
    const MutexLock lock(mutex_);
    return notes_;
  }
  std::size_t calls() {
    const MutexLock lock(mutex_);
    return calls_;
  }

  std::unique_ptr<BucketStore> store_;
  std::unique_ptr<InboxReader> reader_;

 private:
  Taken next_of(std::map<BucketId, Taken>& all, BucketId bucket) {
    Taken taken;
    EXPECT_TRUE(wait_until([&] {
      const MutexLock lock(mutex_);
      const auto found = all.find(bucket);
      if (found == all.end()) return false;
      taken = std::move(found->second);
      all.erase(found);
      return true;
    }));
    return taken;
  }
  void note(std::string text) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(text));
  }

  Mutex mutex_;
  std::map<BucketId, Taken> taken_, commands_;
  std::vector<std::string> notes_ TRAWL_GUARDED_BY(mutex_);
  std::size_t calls_ TRAWL_GUARDED_BY(mutex_) = 0;
};

TEST_F(InboxReaderTest, MessagesAreGivenInOrderAndNotAgainWhileTheyAreUnderWay) {
  push(1, 0, 3);
  push(2, 10, 11);
  push(3, 20, 21);
  reader_->open(1);
  reader_->open(2);
  Taken first = next(1);
  EXPECT_THAT(first.ids, ElementsAre(id_of(0), id_of(1), id_of(2)));
  EXPECT_THAT(first.urls, ElementsAre("http://a.test/0 note 0", "http://a.test/1 note 1",
                                      "http://a.test/2 note 2"));
  finish(2, next(2));
  push(2, 11, 12);
  push(1, 3, 4);
  EXPECT_THAT(next(2).ids, ElementsAre(id_of(11))) << "other buckets go on";
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(3)) << "it was not opened";
  EXPECT_EQ(calls(), 3u);
  finish(1, std::move(first));
  EXPECT_THAT(next(1).ids, ElementsAre(id_of(3)));
  EXPECT_EQ(reader_->status().messages_taken, 4u);
  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(InboxReaderTest, WhatWasNotTakenIsGivenAgain) {
  push(1, 0, 2);
  reader_->open(1);
  next(1).done(error(ErrorCode::kUnavailable, "Redis is away"));
  Taken again = next(1);
  EXPECT_THAT(again.ids, SizeIs(2));
  EXPECT_EQ(reader_->status().messages_taken, 0u);
  reader_->close(1);
  again.done(error(ErrorCode::kInUse, "another owner"));
  reader_->open(1);
  EXPECT_THAT(next(1).ids, SizeIs(2));
}

TEST_F(InboxReaderTest, AClosedBucketIsNotReadAndLateAnswersAreHarmless) {
  push(1, 0, 1);
  reader_->open(1);
  Taken old = next(1);
  reader_->close(1);
  reader_->open(1);
  Taken fresh = next(1);
  old.done({});
  push(1, 1, 2);
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(has(1)) << "the answer to the earlier one counted for this one";
  reader_->close(1);
  fresh.done({});
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(has(1));
  EXPECT_EQ(reader_->status().messages_waiting, 0u) << "of open buckets";
  InboxReader::Done late = std::move(old.done);
  reader_.reset();
  late({});
}

TEST_F(InboxReaderTest, ALongInboxIsReadInPartsAndItsSizeAndAgeAreKnown) {
  start({.soon = milliseconds(5),
         .idle = milliseconds(40),
         .most_messages = 10,
         .max_bytes = 1u << 20});
  push(5, 0, 35);
  reader_->open(5);
  Taken part = next(5);
  EXPECT_THAT(part.ids, SizeIs(10));
  push(5, 35, 40);
  ASSERT_TRUE(wait_until([&] { return reader_->status().messages_waiting == 40; }));
  ASSERT_TRUE(wait_until([&] { return reader_->status().oldest > milliseconds(300); }));
  EXPECT_EQ(reader_->status().slowest, 5u);
  const milliseconds before = reader_->status().oldest;
  finish(5, std::move(part));
  std::size_t next_id = 10;
  while (next_id < 40) {
    part = next(5);
    ASSERT_FALSE(part.ids.empty());
    EXPECT_EQ(part.ids.front(), id_of(next_id));
    next_id += part.ids.size();
    EXPECT_LT(reader_->status().oldest, before) << "another one is the first now";
    finish(5, std::move(part));
  }
  ASSERT_TRUE(wait_until([&] { return reader_->status().messages_waiting == 0; }));
  EXPECT_EQ(reader_->status().oldest, milliseconds(0));
  EXPECT_EQ(reader_->status().messages_taken, 40u);
}

TEST_F(InboxReaderTest, LargeMessagesAreReadOneAtATime) {
  start({.soon = milliseconds(5), .idle = milliseconds(40), .max_bytes = 4096});
  const std::string url = "http://a.test/" + std::string(3000, 'x');
  const UrlRequest request{.url = url};
  BucketStore::Push push{.bucket = 1, .messages = {}};
  for (std::size_t n = 0; n < 12; ++n)
    push.messages.push_back({.id = id_of(n), .body = encode_requests(std::span(&request, 1))});
  store_->push(std::span(&push, 1));
  reader_->open(1);
  finish(1, next(1));  // it did not know better
  Taken second = next(1);
  EXPECT_LE(second.ids.size(), 3u);
  finish(1, std::move(second));
}

TEST_F(InboxReaderTest, ADamagedMessageIsSetApartAndThoseBehindItGoOn) {
  push(11, 0, 2);
  push_bytes(11, "short");
  push_bytes(11, "0123456789abcdefnot a message");
  push(11, 2, 3);
  reader_->open(11);
  Taken taken = next(11);
  EXPECT_THAT(taken.ids, ElementsAre(id_of(0), id_of(1), id_of(2)));
  EXPECT_EQ(size(11), 3u) << "what the batch takes is at the head";
  EXPECT_EQ(server_->cli({"lrange", "{crawl:b}w", "0", "-1"}),
            "short\n0123456789abcdefnot a message");
  ASSERT_THAT(notes(), SizeIs(1)) << "once for the bucket";
  EXPECT_THAT(notes()[0], HasSubstr("{crawl:b}i"));
  EXPECT_THAT(notes()[0], HasSubstr("{crawl:b}w"));
  EXPECT_EQ(reader_->status().damaged, 2u);
  finish(11, std::move(taken));
  for (int i = 0; i < 150; ++i)
    push_bytes(11, fmt::format("damaged {}", i));
  ASSERT_TRUE(wait_until([&] { return reader_->status().damaged == 152; }));
  EXPECT_EQ(size(11, "w"), 100u);
  EXPECT_EQ(server_->cli({"lindex", "{crawl:b}w", "-1"}), "damaged 149");
}

TEST_F(InboxReaderTest, WithoutAPlaceForADamagedMessageThoseBeforeItGoOnAndNothingIsLost) {
  server_->cli({"set", "{crawl:1}w", "of another program"});
  push(1, 0, 1);
  push_bytes(1, "short");
  push(1, 1, 2);
  reader_->open(1);
  Taken taken = next(1);
  EXPECT_THAT(taken.ids, ElementsAre(id_of(0)));
  finish(1, std::move(taken));
  ASSERT_TRUE(wait_until([&] { return !notes().empty(); }));
  EXPECT_THAT(notes()[0], HasSubstr("{crawl:1}w in Redis is a string"));
  EXPECT_EQ(size(1), 2u);
  server_->cli({"del", "{crawl:1}w"});
  EXPECT_THAT(next(1).ids, ElementsAre(id_of(1)));
}

TEST_F(InboxReaderTest, CommandsAreGivenOneAfterTheOther) {
  std::vector<BucketStore::Command> commands;
  for (std::size_t n = 0; n < 3; ++n) {
    const OwnerCommand command{.kind = OwnerCommand::Kind::kDropHost,
                               .host = fmt::format("h{}.test", n)};
    commands.push_back(
        {.bucket = 4, .message = {.id = id_of(n), .body = encode_owner_command(command)}});
  }
  store_->push_commands(std::span(commands).first(1));
  push_bytes(4, "no command", "x");
  store_->push_commands(std::span(commands).last(2));
  push(4, 7, 8);
  reader_->open(4);
  for (std::size_t n = 0; n < 3; ++n) {
    Taken command = next_command(4);
    EXPECT_THAT(command.ids, ElementsAre(id_of(n)));
    EXPECT_THAT(command.urls, ElementsAre(fmt::format("h{}.test", n)));
    finish(4, std::move(command), "x");
  }
  EXPECT_THAT(next(4).ids, ElementsAre(id_of(7))) << "messages do not wait for commands";
  EXPECT_EQ(server_->cli({"lrange", "{crawl:4}w", "0", "-1"}), "no command");
  EXPECT_EQ(reader_->status().commands_taken, 3u);
}

TEST_F(InboxReaderTest, ARedisThatStandsStillIsReportedOnceAndThenItGoesOn) {
  reader_->open(1);
  reader_->open(2);
  server_->freeze();
  ASSERT_TRUE(wait_until([&] { return reader_->status().has_trouble; }));
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_THAT(notes(), SizeIs(1));
  server_->thaw();
  push(1, 0, 1);
  EXPECT_THAT(next(1).ids, SizeIs(1));
  ASSERT_TRUE(wait_until([&] { return !reader_->status().has_trouble; }));
  ASSERT_THAT(notes(), SizeIs(2));
  EXPECT_EQ(notes()[1], "recovered");
}

}  // namespace
}  // namespace trawl
