// What a store of another kind than RocksDB learns of a batch.
#include "frontier/store/store_batch.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontier/store/rocks_store.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

constexpr Fingerprint kUrl{.high = 3, .low = 4};

// Notes each call.
class Recorder final : public StoreChanges {
 public:
  std::vector<std::string> calls;

  void add_pending(HostId host, const QueueOrder& order, std::string_view record) override {
    note("queue {} {} {} {}", host, order.priority, order.sequence, record);
  }
  void remove_pending(HostId host, const QueueOrder& order) override {
    note("unqueue {} {} {}", host, order.priority, order.sequence);
  }
  void add_deferred(const DeferredUrl& url) override { note("defer {}", text_of(url)); }
  void remove_deferred(const DeferredUrl& url) override { note("undefer {}", text_of(url)); }
  void log_admissions(std::uint64_t first, std::span<const Fingerprint> urls) override {
    std::string all;
    for (const Fingerprint url : urls)
      all += fmt::format(" {}.{}", url.high, url.low);
    note("admit {}{}", first, all);
  }
  void set_host(HostId host, const HostRecord& record) override {
    note("host {} {} {}", host, record.name, record.failures);
  }
  void remove_host(HostId host) override { note("no host {}", host); }
  void set_aside(Fingerprint url, std::string_view value) override {
    note("aside {}.{} {}", url.high, url.low, value);
  }
  void remove_set_aside(Fingerprint url) override { note("not aside {}.{}", url.high, url.low); }
  void set_counters(const Counters& counters) override {
    note("counters {} {}", counters.admitted, counters.sequence);
  }
  void take_message(const MessageId& message) override {
    note("taken {}", std::string_view(message.data(), message.size()));
  }
  void take_command(const MessageId& command) override {
    note("executed {}", std::string_view(command.data(), command.size()));
  }
  void set_ledger(Fingerprint url, const LedgerRecord& record) override {
    note("ledger {}.{} {}", url.high, url.low, record.status);
  }
  void lower_depth(Fingerprint url, std::uint32_t depth) override {
    note("depth {}.{} {}", url.high, url.low, depth);
  }
  void forget_depth(Fingerprint url) override { note("no depth {}.{}", url.high, url.low); }
  void set_aside_rules(std::string_view profile) override { note("rules {}", profile); }

 private:
  static std::string text_of(const DeferredUrl& url) {
    return fmt::format("{} {} {} {} {}", url.not_before, url.sequence, url.host, url.priority,
                       url.record);
  }
  template <class... A>
  void note(fmt::format_string<A...> format, A&&... arguments) {
    calls.push_back(fmt::format(format, std::forward<A>(arguments)...));
  }
};

std::vector<std::string> calls_of(const StoreBatch& batch) {
  Recorder recorder;
  EXPECT_TRUE(batch.visit(recorder));
  return recorder.calls;
}

Counters some_counters() {
  Counters counters;
  counters.admitted = 8;
  counters.sequence = 9;
  return counters;
}

struct Change {
  std::function<void(StoreBatch&)> add;
  std::string call;
};

const std::vector<Change>& changes() {
  static const DeferredUrl deferred{
      .not_before = -5, .sequence = 7, .host = 1, .priority = -2, .record = "later"};
  static const std::vector<Change> all = {
      {[](auto& b) { b.add_pending(1, {.priority = -3, .sequence = 2}, "url"); },
       "queue 1 -3 2 url"},
      {[](auto& b) { b.add_pending(~HostId{0}, {.priority = 9, .sequence = 0}, ""); },
       "queue 18446744073709551615 9 0 "},
      {[](auto& b) { b.remove_pending(1, {.priority = -3, .sequence = 2}); }, "unqueue 1 -3 2"},
      {[](auto& b) { b.add_deferred(-5, 7, 1, -2, "later"); }, "defer -5 7 1 -2 later"},
      {[](auto& b) { b.remove_deferred(deferred); }, "undefer -5 7 1 -2 later"},
      {[](auto& b) {
         b.log_admissions(4, std::vector{kUrl, Fingerprint{}});
       },
       "admit 4 3.4 0.0"},
      {[](auto& b) { b.set_host(5, {.name = "a.test", .failures = 6}); }, "host 5 a.test 6"},
      {[](auto& b) { b.remove_host(5); }, "no host 5"},
      {[](auto& b) { b.set_aside(kUrl, "why"); }, "aside 3.4 why"},
      {[](auto& b) { b.remove_set_aside(kUrl); }, "not aside 3.4"},
      {[](auto& b) { b.set_ledger(kUrl, {.status = 404}); }, "ledger 3.4 404"},
      {[](auto& b) { b.lower_depth(kUrl, 2); }, "depth 3.4 2"},
      {[](auto& b) { b.forget_depth(kUrl); }, "no depth 3.4"},
      {[](auto& b) { b.set_aside_rules("profile"); }, "rules profile"},
      {[](auto& b) { b.set_counters(some_counters()); }, "counters 8 9"},
  };
  return all;
}

TEST(StoreBatch, EachChangeIsPassedOnAsItWasAdded) {
  for (const Change& change : changes()) {
    StoreBatch batch;
    change.add(batch);
    EXPECT_EQ(calls_of(batch), std::vector{change.call});
  }
}

TEST(StoreBatch, OfARunEachUrlIsPassedOn) {
  const auto run = std::make_shared<QueueRun>();
  run->add(3, 0, kUrl, 1, -3, 4, "a");
  run->add(3, 1, kUrl, 2, 9, 7, std::string(300, 'b'));
  run->add(4, 1, kUrl, 3, 0, 2, "");
  ASSERT_EQ(run->parts().size(), 3u);
  EXPECT_EQ(run->urls(), 3u);
  EXPECT_EQ(run->parts()[1].deepest, 7u);
  run->parts()[0].sequence = 10;
  run->parts()[2].sequence = 5;
  StoreBatch batch;
  batch.add_run(run, run->parts().subspan(2));
  batch.remove_pending(1, {.priority = 0, .sequence = 2});
  batch.add_run(run, run->parts().first(2));
  const std::vector<std::string> expected = {"queue 3 0 5 ", "unqueue 1 0 2", "queue 1 -3 10 a",
                                             "queue 2 9 11 " + std::string(300, 'b')};
  EXPECT_EQ(calls_of(batch), expected);
  const StoreBatch copy = batch;
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.bytes(), 0u);
  EXPECT_EQ(calls_of(copy), expected);
}

TEST(RunReader, StopsWhereTheBytesAreNotValid) {
  QueueRun run;
  for (const std::string record : {"first", "second"})
    run.add(0, 0, kUrl, 1, 0, 0, record);
  const std::string bytes(run.bytes(0, run.parts()[0].end));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    RunReader reader(std::string_view(bytes).substr(0, size), 0);
    std::size_t urls = 0;
    while (reader.next())
      ++urls;
    EXPECT_EQ(urls, size == bytes.size() ? 2u : size >= bytes.size() - 36 ? 1u : 0u) << size;
    EXPECT_EQ(reader.at_end(), reader.offset() == size);
    EXPECT_LE(reader.offset(), size);
  }
  std::string damaged = bytes;
  damaged[0] = 27;
  EXPECT_FALSE(RunReader(damaged, 0).next());
  EXPECT_FALSE(RunReader::decode_header("12345678901"));
}

TEST(StoreBatch, ChangesArePassedOnInOrderAndMessagesBeforeThem) {
  StoreBatch batch;
  EXPECT_TRUE(batch.empty());
  std::vector<std::string> expected = {"taken 0123456789abcdef", "taken ghijklmnopqrstuv",
                                       "executed wxyz0123456789ab"};
  for (const Change& change : changes()) {
    change.add(batch);
    expected.push_back(change.call);
  }
  for (const std::string& taken : {expected[0], expected[1]}) {
    MessageId id;
    std::ranges::copy(taken.substr(6), id.begin());
    batch.take_message(id);
  }
  MessageId command;
  std::ranges::copy(expected[2].substr(9), command.begin());
  batch.take_command(command);
  EXPECT_EQ(calls_of(batch), expected);
  EXPECT_EQ(batch.size(), changes().size());
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(calls_of(batch).empty());
  StoreBatch message;
  message.take_message({});
  EXPECT_FALSE(message.empty()) << "it has to be written though nothing else changes";
  message.clear();
  message.take_command({});
  EXPECT_FALSE(message.empty());
}

// The other fields of a deferred URL are for stores that look for it by its value.
TEST(StoreBatch, RocksDbRemovesADeferredUrlByItsTimeAndNumber) {
  const test::TemporaryDirectory directory;
  const auto store =
      RocksStore::open(directory.path() / "store", {.memory = MemoryPlan::of(MemoryPlan::kLeast)})
          .value();
  StoreBatch batch;
  batch.add_deferred(5, 1, 1, 0, "a");
  batch.add_deferred(5, 2, 1, 0, "b");
  batch.remove_deferred({.not_before = 5, .sequence = 1, .host = 9, .record = "other"});
  ASSERT_TRUE(store->write(batch));
  std::vector<std::string> left;
  ASSERT_TRUE(store->visit_deferred([&](const DeferredUrl& url) {
    left.push_back(url.record);
    return true;
  }));
  EXPECT_EQ(left, std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace trawl
