// The store on a disk that dies, fails once or loses its power, at every operation.
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "crawler/resp/filter_store.h"
#include "tests/support/file_faults.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

using test::FileFaults;
using test::nth_key;

// A server's changes, and how many of them must be there.
class ChangingStore {
 public:
  explicit ChangingStore(const std::filesystem::path& directory)
      : options_{.directory = directory} {}

  // False if it was not possible.
  bool open() {
    store_.reset();
    auto store = FilterStore::open(options_);
    if (!store) {
      why_ = store.error().message;
      return false;
    }
    store_ = std::move(*store);
    return true;
  }
  void kill() { store_.reset(); }
  const std::string& why() const { return why_; }

  // Each step adds keys and copies, and some make and remove filters. `until_done`: what fails is
  // tried again, as the server does; else it ends there.
  bool run(bool until_done) {
    for (int step = 0; step < kSteps; ++step) {
      change(step);
      bool done = commit();
      if (step % 3 == 1) done = checkpoint() || (done && until_done);
      while (until_done && !done)
        done = commit();
      if (!done) return false;
    }
    return true;
  }

  // After a crash.
  void go_on() {
    next_ = durable_;
    change(0);
    EXPECT_TRUE(commit());
  }

  void check(const std::string& when) const {
    for (const char* const name : {"growing", "fixed", "cuckoo"}) {
      const ServedFilter* const filter = store_->find(name);
      if (filter == nullptr) {
        EXPECT_EQ(durable_, 0u) << when;
        continue;
      }
      std::uint64_t lost = 0;
      for (std::uint64_t i = 0; i < durable_; ++i)
        lost += filter->contains(nth_key(i)) ? 0 : 1;
      EXPECT_EQ(lost, 0u) << when << ": " << name << " of " << durable_;
      EXPECT_GE(filter->inserted(), durable_) << when;
      EXPECT_LE(filter->inserted(), next_) << when << ": nothing is counted twice";
    }
    if (durable_ == next_) {
      EXPECT_EQ(store_->find("brief") != nullptr, has_brief_) << when;
    }
  }

 private:
  static constexpr int kSteps = 6;
  static constexpr std::uint64_t kKeys = 60;

  ServedFilter& filter(const char* name, ServedKind kind) {
    if (ServedFilter* const there = store_->find(name)) return *there;
    return *store_->create({.name = name, .kind = kind, .capacity = 1000, .rate = 1e-7}).value();
  }

  void change(int step) {
    ServedFilter& growing = filter("growing", ServedKind::kGrowing);
    ServedFilter& fixed = filter("fixed", ServedKind::kFixed);
    ServedFilter& cuckoo = filter("cuckoo", ServedKind::kCuckoo);
    for (const std::uint64_t end = next_ + kKeys; next_ < end; ++next_) {
      const Fingerprint key = nth_key(next_);
      bool fresh = false;
      EXPECT_EQ(store_->add(growing, {&key, 1}, {&fresh, 1}).done, 1u);
      EXPECT_EQ(store_->add(fixed, {&key, 1}, {&fresh, 1}).done, 1u);
      // After a crash it may be there though it was not certain.
      if (cuckoo.contains(key)) continue;
      EXPECT_EQ(store_->add_copy(cuckoo, key), CuckooChain::Added::kAdded);
    }
    ServedFilter& brief = filter("brief", ServedKind::kGrowing);
    has_brief_ = step % 2 == 0;
    if (!has_brief_) store_->drop(brief);
  }

  bool commit() {
    const auto done = store_->log().commit();
    if (done) durable_ = next_;
    return done.has_value();
  }

  bool checkpoint() {
    const auto checkpoint = store_->begin_checkpoint();
    if (!checkpoint) return false;
    const auto done = store_->finish_checkpoint(*checkpoint, checkpoint->write());
    if (done) durable_ = next_;
    return done.has_value();
  }

  StoreOptions options_;
  std::unique_ptr<FilterStore> store_;
  std::string why_;
  std::uint64_t next_ = 0;
  std::uint64_t durable_ = 0;
  bool has_brief_ = false;
};

void crash_everywhere(FileFaults::Track track) {
  for (std::uint64_t n = 1;; ++n) {
    test::TemporaryDirectory directory;
    FileFaults faults(directory.path(), track);
    ChangingStore store(directory.path() / "filters");
    faults.crash_at(n, n);
    if (store.open()) store.run(false);
    const bool struck = faults.struck();
    const std::string when = "operation " + std::to_string(n) + ", " + faults.struck_at();
    store.kill();
    faults.heal();
    if (track == FileFaults::Track::kPowerLoss) faults.lose_power(n);
    for (int start = 0; start < 3; ++start) {
      ASSERT_TRUE(store.open()) << when << ": " << store.why();
      store.check(when);
      store.go_on();
    }
    if (testing::Test::HasFailure() || !struck) return;
  }
}

TEST(StoreFaults, AKillAtAnyOperationLosesNothingDurable) {
  crash_everywhere(FileFaults::Track::kCrashes);
}

TEST(StoreFaults, APowerFailureAtAnyOperationLosesNothingDurable) {
  crash_everywhere(FileFaults::Track::kPowerLoss);
}

TEST(StoreFaults, AnOperationThatFailsOnceLosesNothing) {
  for (const int error : {EIO, ENOSPC}) {
    for (std::uint64_t n = 1;; ++n) {
      test::TemporaryDirectory directory;
      FileFaults faults(directory.path());
      ChangingStore store(directory.path() / "filters");
      ASSERT_TRUE(store.open());
      faults.fail_once(n, error);
      ASSERT_TRUE(store.run(true));
      const bool struck = faults.struck();
      const std::string when = "operation " + std::to_string(n) + ", " + faults.struck_at();
      store.kill();
      faults.heal();
      for (int start = 0; start < 2; ++start) {
        ASSERT_TRUE(store.open()) << when << ": " << store.why();
        store.check(when);
      }
      if (HasFailure() || !struck) break;
    }
  }
}

}  // namespace
}  // namespace trawl::resp
