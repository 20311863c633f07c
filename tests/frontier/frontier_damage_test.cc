// State directories that are damaged, incomplete or not ours: nothing is lost in silence, and
// no other program's file is touched.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrontierDamage : public test::FrontierFixture {
 protected:
  static constexpr std::uint64_t kUrls = 300;

  // Offers kUrls in three parts, with a checkpoint after each part that `checkpoints` names.
  void make_state(const std::set<int>& checkpoints) {
    const auto frontier = open();
    for (int part = 0; part < 3; ++part) {
      const auto first = static_cast<std::uint64_t>(part) * kUrls / 3;
      offer_all(*frontier, requests(first, first + kUrls / 3));
      if (checkpoints.contains(part)) {
        ASSERT_TRUE(frontier->checkpoint());
      }
    }
  }
  test::Requests requests(std::uint64_t first, std::uint64_t end) const {
    test::Requests requests;
    for (std::uint64_t n = first; n < end; ++n)
      requests.add(web_.url(n));
    return requests;
  }

  fs::path state() const { return options().directory; }
  fs::path checkpoint_file(int number) const {
    return state() / fmt::format("filter-{:06}.ckpt", number);
  }
  // The log of the store's latest writes; small states are in it alone.
  static fs::path write_ahead_log(const fs::path& directory) {
    fs::path log;
    std::uintmax_t most = 0;
    for (const auto& entry : fs::directory_iterator(directory / "store")) {
      if (entry.path().extension() != ".log" || entry.file_size() <= most) continue;
      log = entry.path();
      most = entry.file_size();
    }
    return log;
  }
  static void flip_byte(const fs::path& file, std::uintmax_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char flipped = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(flipped);
    ASSERT_TRUE(stream.good());
  }
  static void truncate(const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }
  static void write(const fs::path& file) { std::ofstream(file) << "somebody else's"; }

  // None of kUrls is lost: after all are offered, each is queued once, whether it was known or is
  // new.
  void expect_nothing_lost(Frontier& frontier) const {
    offer_all(frontier, requests(0, kUrls));
    std::set<std::uint64_t> queued;
    for (const Lease& lease : lease_all(frontier)) {
      EXPECT_TRUE(queued.insert(test::NumberedUrls::number(lease.url)).second) << lease.url;
    }
    EXPECT_EQ(queued.size(), kUrls);
  }

  // Opens copies of a state whose newest checkpoint was taken after two of the three parts, each
  // with the store's log damaged at another place. If that lost URLs which the checkpoint knows, it
  // must be reported, and the URLs must be new.
  template <class Damage>
  void damage_the_log_everywhere(Damage damage) {
    constexpr std::uintmax_t kPlaces = 10;
    int warned = 0;
    for (std::uintmax_t place = 0; place < kPlaces; ++place) {
      SCOPED_TRACE(place);
      auto copy = options();
      copy.directory = directory_.path() / "copy";
      fs::remove_all(copy.directory);
      fs::copy(state(), copy.directory, fs::copy_options::recursive);
      const auto log = write_ahead_log(copy.directory);
      damage(log, fs::file_size(log) * place / kPlaces);
      const auto frontier = EmbeddedFrontier::open(copy, &opened_);
      if (!frontier) {
        EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt) << frontier.error().message;
        ++warned;
        continue;
      }
      const bool lost = (*frontier)->stats()->admitted < kUrls * 2 / 3;
      EXPECT_EQ(!opened_.warnings.empty(), lost);
      warned += lost ? 1 : 0;
      expect_nothing_lost(**frontier);
    }
    EXPECT_GT(warned, 2) << "the damage did not matter";
  }

  test::NumberedUrls web_{7};
};

TEST_F(FrontierDamage, N1_AFlippedByteInTheStoresLogLosesNothing) {
  make_state({1});
  damage_the_log_everywhere(flip_byte);
  fs::remove_all(state());
  make_state({0, 1});
  damage_the_log_everywhere(flip_byte);
}

TEST_F(FrontierDamage, N1_AStoresLogThatWasCutLosesNothing) {
  const auto cut = [](const fs::path& log, std::uintmax_t size) { fs::resize_file(log, size); };
  make_state({1});
  damage_the_log_everywhere(cut);
  fs::remove_all(state());
  make_state({0, 1});
  damage_the_log_everywhere(cut);
}

TEST_F(FrontierDamage, N1_AStoreThatLostWhatCameAfterTheCheckpointFitsIt) {
  make_state({0, 1});
  const auto log = write_ahead_log(state());
  fs::resize_file(log, fs::file_size(log) - 1000);  // within the writes of the last part
  const auto frontier = open();
  EXPECT_EQ(frontier->stats()->admitted, 200u);
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000002.ckpt"));
  EXPECT_THAT(opened_.warnings, IsEmpty()) << "so a crash may leave it";
  expect_nothing_lost(*frontier);
}

TEST_F(FrontierDamage, N1_AStoreThatLostMoreFallsBackToTheOlderCheckpoint) {
  std::uintmax_t size = 0;
  {
    const auto frontier = open();
    for (const std::uint64_t first : {0u, 100u, 200u}) {
      if (first == 100) size = fs::file_size(write_ahead_log(state()));
      offer_all(*frontier, requests(first, first + 100));
      if (first < 200) {
        ASSERT_TRUE(frontier->checkpoint());
      }
    }
  }
  fs::resize_file(write_ahead_log(state()), size);
  const auto frontier = open();
  EXPECT_EQ(frontier->stats()->admitted, 100u);
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000001.ckpt"));
  ASSERT_EQ(opened_.warnings.size(), 1u);
  EXPECT_THAT(opened_.warnings[0], HasSubstr("filter-000002.ckpt"));
  expect_nothing_lost(*frontier);
}

// Sequences are given again after a loss: a checkpoint of before must not fit again once the store
// has grown to its length.
TEST_F(FrontierDamage, N1_ACheckpointOfLostWritesDoesNotFitLater) {
  std::uintmax_t size = 0;
  {
    const auto frontier = open();
    for (const std::uint64_t first : {0u, 100u}) {
      size = first == 0 ? size : fs::file_size(write_ahead_log(state()));
      offer_all(*frontier, requests(first, first + 100));
      ASSERT_TRUE(frontier->checkpoint());
    }
  }
  fs::resize_file(write_ahead_log(state()), size);
  {
    const auto frontier = open();
    EXPECT_EQ(frontier->stats()->admitted, 100u);
    EXPECT_THAT(opened_.warnings, ElementsAre(HasSubstr("filter-000002.ckpt")));
    offer_all(*frontier, requests(200, kUrls));
    EXPECT_EQ(frontier->stats()->admitted, 200u);
  }
  const auto frontier = open();
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000001.ckpt"));
  EXPECT_THAT(opened_.warnings, IsEmpty());
  expect_nothing_lost(*frontier);
}

// The log of admissions begins at the older checkpoint, and the store ends before it.
TEST_F(FrontierDamage, AStoreOlderThanEveryCheckpointIsRefused) {
  { offer_all(*open(), requests(0, 10)); }
  const auto old_store = directory_.path() / "old-store";
  fs::copy(state() / "store", old_store, fs::copy_options::recursive);
  make_state({0, 1});
  fs::remove_all(state() / "store");
  fs::copy(old_store, state() / "store", fs::copy_options::recursive);
  const auto frontier = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(frontier.error().message,
              AllOf(HasSubstr("filter-000001.ckpt"), HasSubstr("filter-000002.ckpt")));
  EXPECT_TRUE(fs::exists(checkpoint_file(1)) && fs::exists(checkpoint_file(2)));
}

TEST_F(FrontierDamage, AMissingStoreIsRefused) {
  make_state({1});
  for (const bool empty : {false, true}) {
    fs::remove_all(state() / "store");
    if (empty) fs::create_directory(state() / "store");
    for (const OpenMode mode : {OpenMode::kResume, OpenMode::kCreateOrResume}) {
      auto frontier_options = options();
      frontier_options.mode = mode;
      const auto frontier = EmbeddedFrontier::open(frontier_options, &opened_);
      ASSERT_FALSE(frontier);
      EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt);
      EXPECT_THAT(frontier.error().message, HasSubstr("store"));
    }
    EXPECT_TRUE(fs::exists(checkpoint_file(1)));
  }
}

// Behind the magic comes the version, in four bytes.
TEST_F(FrontierDamage, ADamagedVersionIsDamageNotAVersion) {
  make_state({0, 1});
  for (std::uintmax_t byte = 8; byte < 12; ++byte) {
    SCOPED_TRACE(byte);
    flip_byte(checkpoint_file(2), byte);
    const auto frontier = open();
    EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000001.ckpt"));
    ASSERT_EQ(opened_.warnings.size(), 1u);
    EXPECT_THAT(opened_.warnings[0], HasSubstr("filter-000002.ckpt is damaged"));
    expect_nothing_lost(*frontier);
    flip_byte(checkpoint_file(2), byte);
  }
  flip_byte(state() / "MANIFEST", 8);
  EXPECT_EQ(EmbeddedFrontier::open(options(), &opened_).error().code, ErrorCode::kCorrupt);
}

TEST_F(FrontierDamage, AfterAFallbackTheIntactCheckpointIsKept) {
  make_state({0, 1});
  truncate(checkpoint_file(2));
  {
    const auto frontier = open();
    EXPECT_EQ(opened_.warnings.size(), 1u);
    ASSERT_TRUE(frontier->checkpoint());
  }
  truncate(checkpoint_file(3));
  const auto frontier = open();
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000001.ckpt"));
  EXPECT_EQ(frontier->stats()->admitted, kUrls);
  EXPECT_EQ(opened_.replayed, kUrls * 2 / 3);
  expect_nothing_lost(*frontier);
}

TEST_F(FrontierDamage, RemovingADirectoryWithoutACrawlTouchesNothing) {
  fs::create_directories(state() / "store");
  const std::vector<fs::path> theirs = {state() / "store" / "photos", state() / "filter-notes.txt",
                                        state() / "filter-rules.txt",
                                        state() / "filter-000001.ckpt", state() / "LOCK"};
  for (const auto& file : theirs)
    write(file);
  EXPECT_TRUE(EmbeddedFrontier::remove(state()));
  for (const auto& file : theirs)
    EXPECT_TRUE(fs::exists(file)) << file;
}

TEST_F(FrontierDamage, OtherFilesInTheDirectoryAreLeftAlone) {
  fs::create_directories(state());
  std::vector<fs::path> theirs;
  for (const char* name :
       {"filter-notes.txt", "filter-rules.txt", "filter-.ckpt", "filter-a00001.ckpt",
        "filter-0001.ckpt", "filter-000001.ckpt.bak", "my-filter-000001.ckpt", "notes.tmp"}) {
    theirs.push_back(state() / name);
    write(theirs.back());
  }
  const auto expect_there = [&](const char* when) {
    for (const auto& file : theirs)
      EXPECT_TRUE(fs::exists(file)) << file << " after " << when;
  };
  make_state({0, 1, 2});
  expect_there("checkpoints");
  { expect_nothing_lost(*open()); }
  expect_there("resuming");
  ASSERT_TRUE(EmbeddedFrontier::remove(state()));
  expect_there("removing");
  std::set<fs::path> left;
  for (const auto& entry : fs::directory_iterator(state()))
    left.insert(entry.path());
  EXPECT_EQ(left, std::set<fs::path>(theirs.begin(), theirs.end()));
}

// A crash inside remove() leaves the manifest renamed, and any part of the rest.
TEST_F(FrontierDamage, AnInterruptedRemovalIsFinished) {
  enum Next { kCreate, kResume, kRemove };
  for (const Next next : {kCreate, kResume, kRemove}) {
    for (const bool store_was_removed : {false, true}) {
      SCOPED_TRACE(testing::Message() << next << ", " << store_was_removed);
      fs::remove_all(state());
      make_state({1});
      fs::rename(state() / "MANIFEST", state() / "MANIFEST.removed");
      if (store_was_removed) fs::remove_all(state() / "store");
      auto frontier_options = options();
      if (next == kCreate) {
        frontier_options.mode = OpenMode::kCreate;
        const auto frontier = open(frontier_options);
        EXPECT_FALSE(opened_.resumed);
        EXPECT_EQ(frontier->stats()->admitted, 0u);
        EXPECT_EQ(offer_one(*frontier, web_.url(0)), Admission::kNew);
        EXPECT_EQ(lease_all(*frontier).size(), 1u);
      } else if (next == kResume) {
        frontier_options.mode = OpenMode::kResume;
        EXPECT_EQ(EmbeddedFrontier::open(frontier_options, &opened_).error().code,
                  ErrorCode::kNotFound);
      } else {
        EXPECT_TRUE(EmbeddedFrontier::remove(state()));
        EXPECT_TRUE(fs::is_empty(state()));
      }
      EXPECT_FALSE(fs::exists(state() / "MANIFEST.removed"));
      EXPECT_FALSE(fs::exists(checkpoint_file(1)));
    }
  }
}

TEST_F(FrontierDamage, PathsThatCannotBeAreErrors) {
  const auto refused = [&](const fs::path& directory, OpenMode mode) {
    auto frontier_options = options();
    frontier_options.directory = directory;
    frontier_options.mode = mode;
    const auto frontier = EmbeddedFrontier::open(frontier_options, &opened_);
    return !frontier && !frontier.error().message.empty();
  };
  const auto file = directory_.path() / "file";
  write(file);
  const auto loop = directory_.path() / "loop";
  fs::create_symlink(loop, loop);
  for (const fs::path& path :
       {fs::path(std::string(5000, 'a')), directory_.path() / std::string(300, 'a'), file,
        file / "state", loop, loop / "state"}) {
    SCOPED_TRACE(path.string().substr(0, 100));
    EXPECT_TRUE(refused(path, OpenMode::kCreate));
    EXPECT_TRUE(refused(path, OpenMode::kResume));
    EXPECT_NO_THROW((void)EmbeddedFrontier::remove(path));
  }
  EXPECT_TRUE(fs::exists(file));
  EXPECT_TRUE(fs::is_symlink(loop));
}

TEST_F(FrontierDamage, FilesThatCannotBeReadAreErrors) {
  make_state({1});
  const auto instead = [&](const fs::path& path, bool directory) {
    SCOPED_TRACE(path);
    fs::rename(path, directory_.path() / "aside");
    directory ? void(fs::create_directory(path)) : write(path);
    const auto frontier = EmbeddedFrontier::open(options(), &opened_);
    fs::remove_all(path);
    fs::rename(directory_.path() / "aside", path);
    return !frontier && !frontier.error().message.empty();
  };
  EXPECT_TRUE(instead(state() / "MANIFEST", true));
  EXPECT_TRUE(instead(state() / "LOCK", true));
  EXPECT_TRUE(instead(state() / "store", false));
  EXPECT_TRUE(instead(state() / "store" / "CURRENT", true));
  expect_nothing_lost(*open());
}

TEST_F(FrontierDamage, ADirectoryThatMayNotBeReadIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
  make_state({1});
  fs::permissions(state(), fs::perms::none);
  const auto frontier = EmbeddedFrontier::open(options(), &opened_);
  fs::permissions(state(), fs::perms::owner_all);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kPermission);
  expect_nothing_lost(*open());
}

}  // namespace
}  // namespace trawl
