// What the server's threads share: the log, and filters that are saved while keys are added.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "crawler/resp/filter_store.h"
#include "crawler/resp/log_flusher.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

using test::nth_key;

TEST(ServerThreads, TheLogAndCheckpointsGoOnWhileKeysAreAdded) {
  test::TemporaryDirectory directory;
  const StoreOptions options{.directory = directory.path() / "filters"};
  constexpr std::uint64_t kKeys = 20'000;
  {
    auto store = FilterStore::open(options).value();
    LogFlusher flusher(store->log(), std::chrono::milliseconds(2), [](std::string_view) {});
    ServedFilter& growing =
        *store->create({.name = "b", .capacity = 100, .rate = 1e-9, .hash_key = {}}).value();
    ServedFilter& cuckoo = *store
                                ->create({.name = "c",
                                          .kind = ServedKind::kCuckoo,
                                          .capacity = 100,
                                          .rate = 1e-6,
                                          .hash_key = {}})
                                .value();
    std::uint64_t next = 0;
    const auto add_some = [&](std::uint64_t count) {
      for (const std::uint64_t end = next + count; next < end; ++next) {
        const Fingerprint key = nth_key(next);
        bool fresh = false;
        ASSERT_EQ(store->add(growing, {&key, 1}, {&fresh, 1}).done, 1u);
        ASSERT_EQ(store->add_copy(cuckoo, key), CuckooChain::Added::kAdded);
      }
    };
    while (next + 2000 <= kKeys) {
      add_some(500);
      const auto checkpoint = store->begin_checkpoint();
      ASSERT_TRUE(checkpoint);
      Result<void> written;
      std::thread writer([&] { written = checkpoint->write(); });
      add_some(1000);
      writer.join();
      add_some(500);
      ASSERT_TRUE(store->finish_checkpoint(*checkpoint, written));
      flusher.hurry();
    }
    ASSERT_TRUE(store->log().commit());
  }
  const auto store = FilterStore::open(options).value();
  EXPECT_EQ(store->find("b")->inserted(), kKeys);
  EXPECT_EQ(store->find("c")->inserted(), kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(store->find("b")->contains(nth_key(i)));
    ASSERT_EQ(store->find("c")->cuckoo()->count(nth_key(i)), 1u);
  }
}

TEST(ServerThreads, TheFlusherSaysWhenTheLogFailsAndGoesOnByItself) {
  test::TemporaryDirectory directory;
  const auto inside = directory.path() / "inside";
  FilterLog log(inside, 1, 0);
  std::atomic<int> notes{0};
  LogFlusher flusher(log, std::chrono::milliseconds(2),
                     [&](std::string_view) { notes.fetch_add(1, std::memory_order_relaxed); });
  log.drop(1);
  while (!log.failing())
    std::this_thread::yield();
  std::filesystem::create_directory(inside);
  while (log.failing() || log.waiting().any)
    std::this_thread::yield();
  while (notes.load(std::memory_order_relaxed) < 2)
    std::this_thread::yield();
}

}  // namespace
}  // namespace trawl::resp
