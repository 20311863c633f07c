// EmbeddedFrontier::repair: what it says is true, and what it made opens.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "frontier/recovery/manifest.h"
#include "frontier/store/rocks_store.h"
#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrontierRepair : public test::FrontierFixture {
 protected:
  static constexpr std::uint64_t kUrls = 300;
  static constexpr std::uint64_t kCompleted = 60;

  fs::path state() const { return options().directory; }

  // Three parts with a checkpoint behind each, so that the log begins behind the first part; of
  // which kCompleted URLs are completed, and known only to the checkpoints.
  void make_state(const EmbeddedOptions& options) const {
    const auto frontier = open(options);
    for (std::uint64_t part = 0; part < 3; ++part) {
      offer_all(*frontier, requests(part * 100, part * 100 + 100));
      if (part == 0) {
        for (const Lease& lease : lease(*frontier, kCompleted))
          complete(*frontier, lease);
      }
      ASSERT_TRUE(frontier->checkpoint());
    }
  }
  void make_state() const { make_state(options()); }
  test::Requests requests(std::uint64_t first, std::uint64_t end) const {
    test::Requests requests;
    for (std::uint64_t n = first; n < end; ++n)
      requests.add(web_.url(n));
    return requests;
  }
  std::vector<fs::path> checkpoint_files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(state())) {
      if (entry.path().extension() == ".ckpt") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }
  void damage_every_checkpoint() const {
    for (const auto& file : checkpoint_files())
      fs::resize_file(file, fs::file_size(file) / 2);
  }
  RepairReport repair() const { return repair(options()); }
  static RepairReport repair(const EmbeddedOptions& options) {
    auto report = EmbeddedFrontier::repair(options);
    if (!report) throw std::runtime_error(report.error().message);
    return *report;
  }
  // Offers all URLs; returns which of them were new.
  std::set<std::uint64_t> new_ones(Frontier& frontier) const {
    const auto answers = offer_all(frontier, requests(0, kUrls));
    std::set<std::uint64_t> fresh;
    for (std::uint64_t n = 0; n < kUrls; ++n) {
      if (answers[n] == Admission::kNew) fresh.insert(n);
    }
    return fresh;
  }
  static std::set<std::uint64_t> numbers_of(const std::vector<Lease>& leases) {
    std::set<std::uint64_t> numbers;
    for (const Lease& lease : leases)
      EXPECT_TRUE(numbers.insert(test::NumberedUrls::number(lease.url)).second) << lease.url;
    return numbers;
  }

  test::NumberedUrls web_{7};
};

TEST_F(FrontierRepair, WhatTheLogAndTheQueuesTellIsKnownAndTheRestIsCounted) {
  make_state();
  // Those of the log's are known from there, though they wait no more.
  constexpr std::uint64_t kLogged = 20;
  {
    const auto frontier = open();
    std::uint64_t completed = 0;
    for (const Lease& lease : lease_all(*frontier)) {
      if (test::NumberedUrls::number(lease.url) < 200 || completed == kLogged) continue;
      complete(*frontier, lease);
      ++completed;
    }
    ASSERT_EQ(completed, kLogged);
    ASSERT_TRUE(frontier->flush());
  }
  damage_every_checkpoint();
  EXPECT_EQ(EmbeddedFrontier::open(options(), &opened_).error().code, ErrorCode::kCorrupt);
  const RepairReport report = repair();
  EXPECT_TRUE(report.repaired);
  EXPECT_EQ(report.known, kUrls - kCompleted);
  EXPECT_EQ(report.forgotten, kCompleted);
  EXPECT_THAT(report.notes, Contains(HasSubstr("filter-000002.ckpt is damaged")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("filter-000003.ckpt is damaged")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("has 100 of the 300")));
  EXPECT_THAT(report.notes,
              Contains(HasSubstr("220 URLs wait; 140 of them were in no other source")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("60 of the 300 admitted URLs are no longer known")));

  const auto frontier = open();
  EXPECT_THAT(opened_.warnings, IsEmpty());
  EXPECT_EQ(opened_.replayed, 0u);
  const auto queued = numbers_of(lease_all(*frontier));
  EXPECT_EQ(queued.size(), kUrls - kCompleted - kLogged);
  const auto fresh = new_ones(*frontier);
  EXPECT_EQ(fresh.size(), kCompleted);
  for (const std::uint64_t n : fresh) {
    EXPECT_LT(n, 100u);
    EXPECT_FALSE(queued.contains(n)) << n;
  }
}

TEST_F(FrontierRepair, WhatWasRepairedIsACrawlLikeAnyOther) {
  make_state();
  damage_every_checkpoint();
  ASSERT_TRUE(repair().repaired);
  {
    const auto frontier = open();
    EXPECT_EQ(new_ones(*frontier).size(), kCompleted);
    ASSERT_TRUE(frontier->checkpoint());
  }
  EXPECT_FALSE(repair().repaired);
  {
    const auto frontier = open();
    EXPECT_THAT(new_ones(*frontier), IsEmpty());
    EXPECT_EQ(lease_all(*frontier).size(), kUrls);
  }
  // The newest damaged: the repaired one and the log behind it serve.
  const auto files = checkpoint_files();
  ASSERT_EQ(files.size(), 2u);
  fs::resize_file(files[1], 100);
  {
    const auto frontier = open();
    EXPECT_EQ(opened_.checkpoint, files[0].string());
    EXPECT_THAT(new_ones(*frontier), IsEmpty());
  }
}

TEST_F(FrontierRepair, ItCanBeRepairedAgain) {
  make_state();
  damage_every_checkpoint();
  const RepairReport first = repair();
  damage_every_checkpoint();
  EXPECT_EQ(EmbeddedFrontier::open(options(), &opened_).error().code, ErrorCode::kCorrupt);
  const RepairReport second = repair();
  EXPECT_TRUE(second.repaired);
  EXPECT_EQ(second.known, first.known) << "the first repair kept what it was made of";
  EXPECT_EQ(lease_all(*open()).size(), kUrls - kCompleted);
}

TEST_F(FrontierRepair, WhatOpensIsLeftAlone) {
  make_state();
  const auto files = checkpoint_files();
  const RepairReport whole = repair();
  EXPECT_FALSE(whole.repaired);
  EXPECT_EQ(whole.known, kUrls);
  EXPECT_EQ(whole.forgotten, 0u);
  EXPECT_THAT(whole.notes, IsEmpty());
  fs::resize_file(files[1], 100);
  const RepairReport one_damaged = repair();
  EXPECT_FALSE(one_damaged.repaired);
  EXPECT_THAT(one_damaged.notes, Contains(HasSubstr(files[1].string())));
  EXPECT_EQ(checkpoint_files(), files);
}

TEST_F(FrontierRepair, WithALedgerNothingIsForgottenAndNoRepairNeeded) {
  auto with_ledger = options();
  for (const FilterMode mode : {FilterMode::kBloom, FilterMode::kExact}) {
    SCOPED_TRACE(static_cast<int>(mode));
    ASSERT_TRUE(EmbeddedFrontier::remove(state()));
    with_ledger.seen.ledger = mode == FilterMode::kBloom;
    with_ledger.seen.mode = mode;
    make_state(with_ledger);
    damage_every_checkpoint();
    const RepairReport report = repair(with_ledger);
    EXPECT_FALSE(report.repaired);
    EXPECT_EQ(report.known, kUrls);
    EXPECT_THAT(report.notes, Contains(HasSubstr("ledger")));
    auto without = options();  // the crawl keeps its ledger all the same
    without.seen.mode = mode;
    const auto frontier = open(without);
    EXPECT_THAT(opened_.warnings, Contains(HasSubstr("ledger")));
    EXPECT_THAT(opened_.checkpoint, IsEmpty());
    EXPECT_THAT(new_ones(*frontier), IsEmpty());
    EXPECT_EQ(lease_all(*frontier).size(), kUrls - kCompleted);
    // And the next checkpoint makes it whole.
    ASSERT_TRUE(frontier->close());
    open(without);
    EXPECT_THAT(opened_.warnings, IsEmpty());
  }
}

// A URL that is offered again counts as one: in the ledger, which stays a way back, and in what is
// reported. The filter is so bad that it calls some seen that are offered `again` for the first
// time.
TEST_F(FrontierRepair, UrlsOfferedAgainAreCountedOnce) {
  const auto offer_again = [&](Frontier& frontier, std::uint64_t first, std::uint64_t end) {
    const test::Requests urls = requests(first, end);
    std::vector<UrlRequest> again = urls.get();
    for (UrlRequest& request : again)
      request.again = true;
    const std::vector<Admission> answers = frontier.offer(again).value();
    for (const Admission admission : answers)
      ASSERT_EQ(admission, Admission::kNew);
  };
  struct Case {
    FilterMode mode;
    bool ledger;
    double rate;
  };
  for (const auto& [mode, ledger, rate] :
       {Case{FilterMode::kBloom, true, 1e-9}, Case{FilterMode::kExact, true, 1e-9},
        Case{FilterMode::kBloom, true, 0.2}, Case{FilterMode::kExact, true, 0.2},
        Case{FilterMode::kBloom, false, 1e-9}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(mode) << " " << ledger << " " << rate);
    ASSERT_TRUE(EmbeddedFrontier::remove(state()));
    auto options = this->options();
    options.seen.mode = mode;
    options.seen.ledger = ledger;
    options.seen.false_positive_rate = rate;
    options.seen.expected_urls = 200;
    {
      const auto frontier = open(options);
      offer_again(*frontier, 0, 100);
      ASSERT_TRUE(frontier->checkpoint());
      for (const Lease& lease : lease_all(*frontier))
        complete(*frontier, lease);
      offer_again(*frontier, 0, 200);
      ASSERT_TRUE(frontier->checkpoint());
      offer_again(*frontier, 100, 200);
      offer_again(*frontier, 200, kUrls);
      const test::Requests one = requests(0, 1);
      std::vector<UrlRequest> twice{one.get()[0], one.get()[0]};
      twice[0].again = twice[1].again = true;
      ASSERT_TRUE(frontier->offer(twice));
      ASSERT_TRUE(frontier->checkpoint());
    }
    const RepairReport whole = repair(options);
    EXPECT_FALSE(whole.repaired);
    EXPECT_EQ(whole.known, kUrls);
    EXPECT_EQ(whole.forgotten, 0u);
    damage_every_checkpoint();
    const RepairReport report = repair(options);
    EXPECT_EQ(report.repaired, !ledger);
    EXPECT_EQ(report.known, kUrls);
    EXPECT_EQ(report.forgotten, 0u);
    const auto frontier = open(options);
    EXPECT_THAT(new_ones(*frontier), IsEmpty());
    if (ledger) {
      EXPECT_THAT(opened_.warnings, Contains(HasSubstr("all 300 URLs")));
    }
  }
}

// The log lacks admissions behind an intact checkpoint.
TEST_F(FrontierRepair, AnIntactCheckpointIsUsedThoughTheLogHasAGap) {
  {
    const auto frontier = open();
    offer_all(*frontier, requests(0, 100));
    for (const Lease& lease : lease_all(*frontier))
      complete(*frontier, lease);
    ASSERT_TRUE(frontier->checkpoint());
    offer_all(*frontier, requests(100, 200));
    const auto leases = lease_all(*frontier);
    for (std::size_t i = 0; i < 30; ++i)
      complete(*frontier, leases[i]);
    offer_all(*frontier, requests(200, kUrls));
  }
  {
    const auto store = RocksStore::open(
        state() / "store", {.sync = false, .memory = MemoryPlan::of(kMinFrontierMemory)});
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->trim_admissions(200));
  }
  const auto refused = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("lacks some of the admissions 100 to 300"), HasSubstr("repair")));
  const RepairReport report = repair();
  EXPECT_TRUE(report.repaired);
  EXPECT_EQ(report.known, kUrls - 30);
  EXPECT_EQ(report.forgotten, 30u);
  EXPECT_THAT(report.notes, Contains(HasSubstr("filter-000001.ckpt has the first 100")));
  const auto frontier = open();
  EXPECT_EQ(new_ones(*frontier).size(), 30u);
  EXPECT_EQ(lease_all(*frontier).size(), 200u);
}

TEST_F(FrontierRepair, DeferredUrlsAreKnown) {
  std::string deferred;
  auto keeps_one = options();
  keeps_one.checkpoints.keep = 1;  // and no log
  {
    const auto frontier = open(keeps_one);
    offer_all(*frontier, requests(0, 100));
    const auto leases = lease_all(*frontier);
    deferred = leases[0].url;
    ASSERT_TRUE(frontier->fail(leases[0].id, FailureReason::kServerError, std::chrono::hours(1)));
    for (std::size_t i = 1; i < leases.size(); ++i)
      complete(*frontier, leases[i]);
    ASSERT_TRUE(frontier->checkpoint());
  }
  damage_every_checkpoint();
  const RepairReport report = repair();
  EXPECT_EQ(report.known, 1u);
  EXPECT_EQ(report.forgotten, 99u);
  const auto frontier = open();
  EXPECT_EQ(offer_one(*frontier, deferred), Admission::kSeen);
  EXPECT_EQ(frontier->stats()->deferred, 1u);
}

// The keys of waiting URLs are made as offers make them.
TEST_F(FrontierRepair, WaitingUrlsAreKnownByTheirCanonicalKeys) {
  auto sorted = options();
  sorted.seen.profile.rules.sort_query = true;
  {
    const auto frontier = open(sorted);
    offer_one(*frontier, "http://a.test/?b=1&a=2");
    ASSERT_TRUE(frontier->checkpoint());
    ASSERT_TRUE(frontier->checkpoint());
  }
  damage_every_checkpoint();
  EXPECT_EQ(EmbeddedFrontier::repair(options()).error().code, ErrorCode::kProfileMismatch);
  EXPECT_EQ(repair(sorted).known, 1u);
  const auto frontier = open(sorted);
  EXPECT_EQ(offer_one(*frontier, "http://a.test/?a=2&b=1"), Admission::kSeen);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierRepair, WithoutTheManifestItSaysWhatIsLeftToDo) {
  make_state();
  const auto expect_lost = [&] {
    const auto report = EmbeddedFrontier::repair(options());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(report.error().message,
                AllOf(HasSubstr("MANIFEST"), HasSubstr("key"), HasSubstr("trawl frontier dump")));
  };
  fs::resize_file(state() / "MANIFEST", 20);
  expect_lost();
  fs::remove(state() / "MANIFEST");
  expect_lost();
  EXPECT_EQ(checkpoint_files().size(), 2u) << "nothing is removed";
}

TEST_F(FrontierRepair, WhereThereIsNoCrawlThereIsNothingToRepair) {
  EXPECT_EQ(EmbeddedFrontier::repair(options()).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(state()));
  auto relative = options();
  relative.directory = "";
  EXPECT_EQ(EmbeddedFrontier::repair(relative).error().code, ErrorCode::kInvalidArgument);
  // A crawl that was being created: a store, but no URL and no manifest yet.
  { const auto frontier = open(); }
  fs::remove(state() / "MANIFEST");
  EXPECT_EQ(EmbeddedFrontier::repair(options()).error().code, ErrorCode::kNotFound);
}

TEST_F(FrontierRepair, ACrawlThatIsOpenIsNotRepaired) {
  make_state();
  const auto frontier = open();
  EXPECT_EQ(EmbeddedFrontier::repair(options()).error().code, ErrorCode::kInUse);
}

}  // namespace
}  // namespace trawl
