// Checkpoints cost what they save: a full layer is written once, nothing is written without need,
// and whatever happens meanwhile, each URL is known exactly once.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "trawl/mapped_filter.h"

#include "frontier/recovery/manifest.h"
#include "tests/frontier/frontier_fixture.h"
#include "tests/support/file_faults.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointLayers : public test::FrontierFixture {
 protected:
  // The first layer has room for 100 URLs, the second for 375.
  EmbeddedOptions options() const {
    auto options = FrontierFixture::options();
    options.seen.expected_urls = 100;
    return options;
  }
  std::unique_ptr<Frontier> open() const { return FrontierFixture::open(options()); }
  fs::path state() const { return options().directory; }
  test::Requests requests(std::uint64_t first, std::uint64_t end) const {
    test::Requests requests;
    for (std::uint64_t n = first; n < end; ++n)
      requests.add(web_.url(n));
    return requests;
  }
  void offer_to(Frontier& frontier, std::uint64_t end) {
    offer_all(frontier, requests(offered_, end));
    offered_ = end;
  }
  void checkpoint_at(Frontier& frontier, std::uint64_t end) {
    offer_to(frontier, end);
    const auto taken = frontier.checkpoint();
    ASSERT_TRUE(taken) << taken.error().message;
  }
  std::set<std::string> files(const std::string& extension) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(state())) {
      if (entry.path().extension() == extension) names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::set<std::string> layers() const { return files(".layer"); }
  Manifest manifest() const { return Manifest::read(state()).value().value(); }
  // Of the frontier's own files: what changes if one is written again.
  std::map<std::string, fs::file_time_type> times() const {
    std::map<std::string, fs::file_time_type> times;
    for (const auto& entry : fs::directory_iterator(state())) {
      if (entry.is_regular_file() && entry.path().filename() != "LOCK")
        times[entry.path().filename().string()] = entry.last_write_time();
    }
    return times;
  }
  // All that was offered is known and queued, nothing twice.
  void expect_all_there(Frontier& frontier) const {
    for (const Admission admission : offer_all(frontier, requests(0, offered_)))
      ASSERT_EQ(admission, Admission::kSeen);
    std::set<std::uint64_t> queued;
    for (const Lease& lease : lease_all(frontier))
      ASSERT_TRUE(queued.insert(test::NumberedUrls::number(lease.url)).second) << lease.url;
    EXPECT_EQ(queued.size(), offered_);
  }

  test::NumberedUrls web_{7};
  std::uint64_t offered_ = 0;
};

TEST_F(CheckpointLayers, AFullLayerIsWrittenOnce) {
  auto frontier = open();
  checkpoint_at(*frontier, 90);
  EXPECT_THAT(layers(), IsEmpty());
  checkpoint_at(*frontier, 150);
  ASSERT_THAT(layers(), SizeIs(1));
  const std::string first = *layers().begin();
  const auto written = fs::last_write_time(state() / first);
  checkpoint_at(*frontier, 200);
  frontier.reset();
  frontier = open();
  EXPECT_EQ(opened_.replayed, 0u);
  checkpoint_at(*frontier, 400);
  EXPECT_EQ(layers(), std::set{first});
  checkpoint_at(*frontier, 600);
  checkpoint_at(*frontier, 700);
  EXPECT_THAT(layers(), SizeIs(2));
  EXPECT_EQ(fs::last_write_time(state() / first), written);
  ASSERT_THAT(manifest().checkpoints, SizeIs(2));
  for (const CheckpointEntry& entry : manifest().checkpoints) {
    ASSERT_THAT(entry.layers, SizeIs(2));
    EXPECT_EQ(Manifest::layer_path(state(), entry.layers[0]), state() / first);
  }
  // Readers that do not load it.
  const auto newest = *files(".ckpt").rbegin();
  const auto mapped = MappedFilter::open((state() / newest).string());
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_TRUE(mapped->verify());
  EXPECT_EQ(mapped->stats().inserted, 700u);
  EXPECT_EQ(mapped->stats().layers, 3u);
  const auto before = frontier->stats()->filter;
  frontier.reset();
  frontier = open();
  EXPECT_EQ(frontier->stats()->filter.layers, before.layers);
  EXPECT_EQ(frontier->stats()->filter.inserted, before.inserted);
  EXPECT_EQ(frontier->stats()->filter.memory_bytes, before.memory_bytes);
  expect_all_there(*frontier);
}

TEST_F(CheckpointLayers, NothingIsWrittenIfNothingChanged) {
  const auto frontier = open();
  EXPECT_TRUE(frontier->checkpoint()) << "of an empty frontier";
  EXPECT_THAT(files(".ckpt"), IsEmpty());
  checkpoint_at(*frontier, 150);
  const auto before = times();
  EXPECT_TRUE(frontier->checkpoint());
  EXPECT_TRUE(frontier->request_checkpoint());
  complete(*frontier, lease(*frontier, 1).at(0));
  EXPECT_TRUE(frontier->checkpoint());
  EXPECT_TRUE(frontier->close());
  EXPECT_EQ(times(), before);
  EXPECT_EQ(frontier->stats()->checkpoints, 1u);
}

TEST_F(CheckpointLayers, ClosingWritesNothingThatIsNotDueAndOpeningReplays) {
  {
    const auto frontier = open();
    offer_to(*frontier, 500);
    const auto before = times();
    EXPECT_TRUE(frontier->close());
    EXPECT_EQ(times(), before);
    EXPECT_EQ(frontier->stats()->checkpoints, 0u);
  }
  const auto frontier = open();
  EXPECT_EQ(opened_.replayed, 500u);
  EXPECT_THAT(opened_.warnings, IsEmpty());
  EXPECT_EQ(frontier->stats()->filter.capacity, 100u + 375 + 1407) << "the layers of before";
  expect_all_there(*frontier);
}

TEST_F(CheckpointLayers, ClosingTakesOneThatWasRequested) {
  {
    const auto frontier = open();
    offer_to(*frontier, 150);
    EXPECT_TRUE(frontier->request_checkpoint());
    EXPECT_TRUE(frontier->close());
    EXPECT_EQ(frontier->stats()->checkpoints, 1u);
  }
  expect_all_there(*open());
  EXPECT_EQ(opened_.replayed, 0u);
}

TEST_F(CheckpointLayers, OneIsTakenWhenReplayWouldTakeTooLong) {
  auto with_rule = options();
  with_rule.checkpoints.max_replay = milliseconds(1);  // 3,500 URLs
  const auto frontier = FrontierFixture::open(with_rule);
  offer_to(*frontier, 3'400);
  EXPECT_EQ(frontier->stats()->checkpoints, 0u);
  offer_to(*frontier, 3'600);
  while (frontier->stats()->checkpoints == 0)
    std::this_thread::sleep_for(milliseconds(1));
  offer_to(*frontier, 3'700);
  EXPECT_TRUE(frontier->close());
  EXPECT_EQ(frontier->stats()->checkpoints, 1u);
  expect_all_there(*open());
  EXPECT_LE(opened_.replayed, 300u);
}

// Before the first checkpoint there is no filter on disk.
TEST_F(CheckpointLayers, TheFiltersOptionsSurviveAKillBeforeTheFirstCheckpoint) {
  offer_to(*open(), 50);
  auto others = options();
  others.seen.expected_urls = 1'000'000;
  others.seen.false_positive_rate = 1e-2;
  const auto frontier = FrontierFixture::open(others);
  EXPECT_EQ(frontier->stats()->filter.capacity, 100u);
  EXPECT_EQ(frontier->stats()->filter.target_rate, options().seen.false_positive_rate);
}

TEST_F(CheckpointLayers, ReplayFillsTheLayersThatThereWere) {
  {
    const auto frontier = open();
    checkpoint_at(*frontier, 150);
    offer_to(*frontier, 400);  // into the second layer
  }
  auto frontier = open();
  EXPECT_EQ(opened_.replayed, 250u);
  EXPECT_EQ(frontier->stats()->filter.layers, 2u);
  EXPECT_EQ(frontier->stats()->filter.inserted, 400u);
  offer_to(*frontier, 600);  // and a third
  frontier.reset();
  frontier = open();
  EXPECT_EQ(frontier->stats()->filter.layers, 3u);
  const std::string first = *layers().begin();
  checkpoint_at(*frontier, 601);
  EXPECT_THAT(layers(), AllOf(SizeIs(2), ::testing::Contains(first)));
  frontier.reset();
  expect_all_there(*open());
}

TEST_F(CheckpointLayers, N1_N2_AfterACrashAtAnyOperation) {
  test::FileFaults faults(state());
  { checkpoint_at(*open(), 90); }
  bool struck = true;
  for (std::uint64_t n = 1; struck; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    auto copy = directory_.path() / "before";
    fs::remove_all(copy);
    fs::copy(state(), copy, fs::copy_options::recursive);
    const std::uint64_t before = offered_;
    auto frontier = open();
    offer_to(*frontier, 600);  // two layers become full
    faults.crash_at(n, n);
    static_cast<void>(frontier->checkpoint());
    frontier.reset();
    struck = faults.heal();
    frontier = open();
    EXPECT_THAT(opened_.warnings, IsEmpty());
    ASSERT_TRUE(frontier->checkpoint());
    EXPECT_THAT(layers(), SizeIs(2)) << "what the crash left is removed";
    EXPECT_THAT(manifest().checkpoints, SizeIs(2));
    frontier.reset();
    frontier = open();
    EXPECT_EQ(opened_.replayed, 0u);
    expect_all_there(*frontier);
    frontier.reset();
    if (HasFailure()) return;
    fs::remove_all(state());
    fs::copy(copy, state(), fs::copy_options::recursive);
    offered_ = before;
  }
}

TEST_F(CheckpointLayers, N1_N2_AfterAPowerLossAtAnyOperation) {
  bool struck = true;
  for (std::uint64_t n = 1; struck; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    auto synced = options();
    synced.store.durability = Durability::kSync;
    const fs::path disk = directory_.path() / std::to_string(n);
    fs::create_directory(disk);
    synced.directory = disk / "state";
    test::FileFaults faults(disk, test::FileFaults::Track::kPowerLoss);
    offered_ = 0;
    auto frontier = FrontierFixture::open(synced);
    checkpoint_at(*frontier, 150);
    offer_to(*frontier, 600);
    faults.crash_at(n, n);
    static_cast<void>(frontier->checkpoint());
    frontier.reset();
    struck = faults.heal();
    faults.lose_power(n);
    frontier = FrontierFixture::open(synced);
    EXPECT_THAT(opened_.warnings, IsEmpty());
    expect_all_there(*frontier);
    frontier.reset();
    if (HasFailure()) return;
  }
}

// A failed attempt: what it wrote serves the next, or is written again, under another name.
TEST_F(CheckpointLayers, N2_AfterAnErrorAtAnyOperation) {
  test::FileFaults faults(state());
  bool struck = true;
  for (std::uint64_t n = 1; struck; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    fs::remove_all(state());
    offered_ = 0;
    struck = false;
    auto frontier = open();
    checkpoint_at(*frontier, 150);
    offer_to(*frontier, 600);
    for (const std::string part : {".layer", "MANIFEST", ".ckpt"}) {
      faults.fail_once(n, EIO, part);
      static_cast<void>(frontier->checkpoint());
      struck |= faults.heal();
      checkpoint_at(*frontier, offered_ + 1);
    }
    EXPECT_THAT(layers(), SizeIs(2));
    frontier.reset();
    frontier = open();
    EXPECT_THAT(opened_.warnings, IsEmpty());
    expect_all_there(*frontier);
    if (HasFailure()) return;
  }
}

class DamagedLayers : public CheckpointLayers {
 protected:
  static void halve(const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }
  void expect_a_new_checkpoint(std::unique_ptr<Frontier> frontier) {
    while (frontier->stats()->checkpoints == 0)
      std::this_thread::sleep_for(milliseconds(1));
    frontier.reset();
    expect_all_there(*open());
    EXPECT_THAT(opened_.warnings, IsEmpty());
    EXPECT_THAT(opened_.checkpoint, HasSubstr(".ckpt"));
  }
};

TEST_F(DamagedLayers, TheWholeLogReplacesItAndANewCheckpointIsTaken) {
  for (const bool missing : {false, true}) {
    SCOPED_TRACE(missing);
    fs::remove_all(state());
    offered_ = 0;
    checkpoint_at(*open(), 150);
    const fs::path layer = state() / *layers().begin();
    missing ? static_cast<void>(fs::remove(layer)) : halve(layer);
    auto frontier = open();
    ASSERT_THAT(opened_.warnings, SizeIs(1));
    EXPECT_THAT(opened_.warnings[0], HasSubstr(layer.filename().string()));
    EXPECT_EQ(opened_.replayed, 150u);
    expect_a_new_checkpoint(std::move(frontier));
    EXPECT_FALSE(fs::exists(layer)) << "no checkpoint refers to it any more";
  }
}

TEST_F(DamagedLayers, TheLedgerReplacesIt) {
  auto with_ledger = options();
  with_ledger.seen.ledger = true;
  {
    const auto frontier = FrontierFixture::open(with_ledger);
    for (const std::uint64_t end : {150, 200, 250})
      checkpoint_at(*frontier, end);
  }
  halve(state() / *layers().begin());
  auto frontier = open();
  EXPECT_THAT(opened_.warnings, SizeIs(3)) << "two checkpoints, and the source used";
  expect_a_new_checkpoint(std::move(frontier));
}

// Every flipped byte of the file is noticed.
TEST_F(DamagedLayers, FlippedBytesAreNoticed) {
  {
    const auto frontier = open();
    for (const std::uint64_t end : {150, 200, 250})
      checkpoint_at(*frontier, end);
  }
  const fs::path layer = state() / *layers().begin();
  const auto size = fs::file_size(layer);
  for (std::uint64_t at = 0; at < size; at += 1 + at / 3) {
    SCOPED_TRACE(at);
    std::fstream file(layer, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get());
    const auto put = [&](char value) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(value);
      file.flush();
    };
    put(static_cast<char>(byte ^ 0x10));
    const auto refused = EmbeddedFrontier::open(options(), &opened_);
    ASSERT_FALSE(refused) << "the log was trimmed";
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr(layer.filename().string()), HasSubstr("trawl frontier repair")));
    put(byte);
  }
  expect_all_there(*open());
}

TEST_F(DamagedLayers, ALayerOfAnotherFilterIsNoticed) {
  {
    const auto frontier = open();
    for (const std::uint64_t end : {150, 600, 610})
      checkpoint_at(*frontier, end);
  }
  ASSERT_THAT(layers(), SizeIs(2));
  fs::copy_file(state() / *layers().begin(), state() / *layers().rbegin(),
                fs::copy_options::overwrite_existing);
  const auto refused = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is not layer 2 of the filter"));
}

// A chunk of the file is damaged: the keys of the others are still known after a repair.
TEST_F(DamagedLayers, RepairUsesTheIntactPart) {
  constexpr std::uint64_t kUrls = 30'000;
  auto larger = options();
  larger.seen.expected_urls = kUrls;
  larger.checkpoints.keep = 1;
  {
    const auto frontier = FrontierFixture::open(larger);
    offer_to(*frontier, kUrls + 100);
    for (const Lease& lease : lease_all(*frontier))
      complete(*frontier, lease);
    ASSERT_TRUE(frontier->checkpoint());
  }
  const fs::path layer = state() / *layers().begin();
  ASSERT_GT(fs::file_size(layer), 200'000u) << "some chunks";
  {
    std::fstream file(layer, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(70'000);
    file << "damage";
  }
  ASSERT_FALSE(EmbeddedFrontier::open(larger, &opened_));
  const auto repaired = EmbeddedFrontier::repair(larger);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_THAT(repaired->notes, ::testing::Contains(HasSubstr("the checksum of chunk")));
  EXPECT_LT(repaired->forgotten, kUrls / 2);
  EXPECT_GT(repaired->forgotten, 0u);
  const auto frontier = FrontierFixture::open(larger);
  std::uint64_t fresh = 0;
  for (const Admission admission : offer_all(*frontier, requests(0, offered_)))
    fresh += admission == Admission::kNew ? 1 : 0;
  EXPECT_LT(fresh, kUrls / 2);
  EXPECT_NEAR(static_cast<double>(fresh), static_cast<double>(repaired->forgotten), kUrls / 50);
}

TEST_F(DamagedLayers, RepairWorksWithoutIt) {
  {
    const auto frontier = open();
    for (const std::uint64_t end : {150, 200, 250})
      checkpoint_at(*frontier, end);
  }
  fs::remove(state() / *layers().begin());
  ASSERT_FALSE(EmbeddedFrontier::open(options(), &opened_));
  const auto repaired = EmbeddedFrontier::repair(options());
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->repaired);
  EXPECT_EQ(repaired->forgotten, 0u) << "all still wait";
  const auto frontier = open();
  expect_all_there(*frontier);
  checkpoint_at(*frontier, 251);
}

}  // namespace
}  // namespace trawl
