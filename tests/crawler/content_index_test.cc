#include "crawler/output/content_index.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::TemporaryDirectory;
using ::testing::HasSubstr;

std::unique_ptr<ContentIndex> opened(const std::filesystem::path& directory, bool sync = false) {
  auto index = ContentIndex::open(directory, {.sync = sync});
  if (!index) {
    ADD_FAILURE() << index.error().message;
    std::abort();
  }
  return std::move(*index);
}

std::string digest_of(int i) {
  return "sha1:DIGEST" + std::to_string(i);
}
FirstCopy copy_of(int i) {
  return {"http://site.example/" + std::to_string(i), "2023-11-14T22:13:20.042000Z"};
}

// The URL found, or empty.
std::string url_of(const Result<std::optional<FirstCopy>>& found) {
  if (!found) return "error: " + found.error().message;
  return *found ? (*found)->url : "";
}

bool has_database(const std::filesystem::path& directory) {
  return std::filesystem::exists(directory / "CURRENT");
}

// As many claims as make the database, each with a commit.
constexpr int kEnoughToMove = 20'000;
void fill(ContentIndex& index, int count = kEnoughToMove) {
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(url_of(index.claim(digest_of(i), copy_of(i))), "");
    ASSERT_TRUE(index.commit());
  }
}
void expect_filled(const ContentIndex& index, int count = kEnoughToMove) {
  EXPECT_EQ(index.bodies(), static_cast<std::uint64_t>(count));
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(url_of(index.find(digest_of(i))), copy_of(i).url);
}

TEST(ContentIndex, AFewBodiesNeedNoDatabase) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()), 1000);
  expect_filled(*opened(directory.path()), 1000);
  EXPECT_FALSE(has_database(directory.path()));
  const auto index = opened(directory.path());
  EXPECT_EQ(url_of(index->claim(digest_of(7), copy_of(-1))), copy_of(7).url);
  for (int i = 1000; i < kEnoughToMove; ++i)
    ASSERT_EQ(url_of(index->claim(digest_of(i), copy_of(i))), "");
  ASSERT_TRUE(index->commit());
  EXPECT_TRUE(has_database(directory.path()));
  expect_filled(*index);
}

// Wherever a crash interrupts the making of the database, the log has all claims.
TEST(ContentIndex, ADatabaseThatWasNotFinishedIsMadeAnew) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()), 1000);
  std::ofstream(directory.path() / "UNFINISHED");
  for (const bool begun : {false, true}) {
    if (begun) std::ofstream(directory.path() / "CURRENT") << "nonsense\n";
    if (begun) std::ofstream(directory.path() / "UNFINISHED");
    const TemporaryDirectory copy;
    std::filesystem::copy(directory.path(), copy.path());
    expect_filled(*opened(copy.path()), 1000);
    EXPECT_FALSE(std::filesystem::exists(copy.path() / "UNFINISHED"));
    expect_filled(*opened(copy.path()), 1000);
  }
}

// What a crash leaves after the database was made, and before the claims were in it.
TEST(ContentIndex, ADatabaseWithoutClaimsTakesThoseOfTheLog) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()), 1000);
  {
    const TemporaryDirectory other;  // a database with the same key and nothing else
    std::filesystem::copy(directory / "CLAIMS", other / "CLAIMS");
    std::filesystem::resize_file(other / "CLAIMS", 48);
    std::ofstream(other / "UNFINISHED");
    { opened(other.path()); }
    std::filesystem::remove(other / "CLAIMS");
    std::filesystem::copy(other.path(), directory.path());
  }
  ASSERT_TRUE(has_database(directory.path()));
  expect_filled(*opened(directory.path()), 1000);
}

TEST(ContentIndex, ALogOfAnotherDatabaseIsRefused) {
  const TemporaryDirectory directory;
  const TemporaryDirectory other;
  fill(*opened(directory.path()));
  fill(*opened(other.path()), 1);
  std::filesystem::copy(other / "CLAIMS", directory / "CLAIMS",
                        std::filesystem::copy_options::overwrite_existing);
  const auto index = ContentIndex::open(directory.path(), {});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kCorrupt);
}

TEST(ContentIndex, TheFirstClaimWins) {
  const TemporaryDirectory directory;
  const auto index = opened(directory.path());
  EXPECT_EQ(url_of(index->find(digest_of(1))), "");
  EXPECT_EQ(url_of(index->claim(digest_of(1), copy_of(1))), "");
  EXPECT_EQ(url_of(index->find(digest_of(1))), copy_of(1).url) << "before the commit";
  EXPECT_EQ(url_of(index->claim(digest_of(1), copy_of(2))), copy_of(1).url);
  ASSERT_TRUE(index->commit());
  EXPECT_EQ(url_of(index->claim(digest_of(1), copy_of(3))), copy_of(1).url);
  EXPECT_EQ(**index->find(digest_of(1)), copy_of(1));
  EXPECT_EQ(url_of(index->find(digest_of(2))), "");
  EXPECT_EQ(index->bodies(), 1u);
}

// In the log, after a restart, and when the claim is in the database.
TEST(ContentIndex, TheFirstRecordOfABodyIsThatOfACopyIfTheFirstWasNotKept) {
  const FirstCopy second{copy_of(2).url, "2023-11-14T22:13:21.000000Z"};
  const FirstCopy expected{copy_of(1).url, second.date, second.url};
  for (const bool moved : {false, true}) {
    const TemporaryDirectory directory;
    {
      const auto index = opened(directory.path());
      EXPECT_EQ(url_of(index->claim("sha1:X", {copy_of(1).url, ""})), "");
      EXPECT_EQ(url_of(index->claim("sha1:OWN", {copy_of(5).url, ""})), "");
      if (moved) fill(*index);
      EXPECT_EQ(has_database(directory.path()), moved);
      // Without a record, it changes nothing.
      EXPECT_EQ((**index->claim("sha1:X", {copy_of(3).url, ""})).date, "");
      const auto first = index->claim("sha1:X", second);
      ASSERT_TRUE(first && *first);
      EXPECT_EQ((*first)->url, copy_of(1).url);
      EXPECT_EQ((*first)->date, "") << "no record before this one";
      EXPECT_EQ(**index->find("sha1:X"), expected);
      EXPECT_EQ(**index->claim("sha1:X", copy_of(3)), expected) << "the record does not change";
      ASSERT_TRUE(index->claim("sha1:OWN", copy_of(5)));
      EXPECT_EQ(**index->find("sha1:OWN"), copy_of(5)) << "its own record";
      EXPECT_EQ(index->bodies(), moved ? kEnoughToMove + 2u : 2u);
      ASSERT_TRUE(index->commit());
    }
    const auto index = opened(directory.path());
    EXPECT_EQ(**index->find("sha1:X"), expected);
    EXPECT_EQ((*index->find("sha1:X"))->url_of_record(), second.url);
    EXPECT_EQ(**index->find("sha1:OWN"), copy_of(5));
    EXPECT_EQ(index->bodies(), moved ? kEnoughToMove + 2u : 2u);
    if (!moved) fill(*index);
    EXPECT_EQ(**index->find("sha1:X"), expected) << "now in the database";
    EXPECT_EQ(index->bodies(), kEnoughToMove + 2u);
  }
}

TEST(ContentIndex, KeepsWhatWasCommittedAndForgetsTheRest) {
  const TemporaryDirectory directory;
  for (const bool sync : {false, true}) {
    const int base = sync ? 10'000 : 0;
    {
      const auto index = opened(directory.path(), sync);
      for (int i = 0; i < 3000; ++i)
        ASSERT_EQ(url_of(index->claim(digest_of(base + i), copy_of(base + i))), "");
      ASSERT_TRUE(index->commit());
      ASSERT_TRUE(index->claim(digest_of(base + 3000), copy_of(base + 3000)));
    }
    const auto index = opened(directory.path(), sync);
    EXPECT_EQ(index->bodies(), sync ? 6000u : 3000u);
    for (int i = 0; i < 3000; ++i)
      ASSERT_EQ(**index->find(digest_of(base + i)), copy_of(base + i));
    EXPECT_EQ(url_of(index->find(digest_of(base + 3000))), "");
  }
}

// A crash may come when the claims are in the database and still in the log.
TEST(ContentIndex, ClaimsThatWereMovedTwiceCountOnce) {
  const TemporaryDirectory directory;
  const auto log = ContentIndex::log_path(directory.path());
  {
    const auto index = opened(directory.path());
    fill(*index, 1000);
    std::filesystem::copy(log, directory / "kept");
    for (int i = 1000; i < kEnoughToMove; ++i)
      ASSERT_TRUE(index->claim(digest_of(i), copy_of(i)));
    ASSERT_TRUE(index->commit());
  }
  ASSERT_TRUE(has_database(directory.path()));
  EXPECT_LT(std::filesystem::file_size(log), std::filesystem::file_size(directory / "kept"));
  std::filesystem::rename(directory / "kept", log);
  const auto index = opened(directory.path());
  expect_filled(*index);
  EXPECT_EQ(url_of(index->claim(digest_of(1), copy_of(-1))), copy_of(1).url);
}

// As those that were written before there was one.
TEST(ContentIndex, ADirectoryWithoutALogIsRead) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()));
  opened(directory.path()).reset();  // moves the rest
  std::filesystem::remove(ContentIndex::log_path(directory.path()));
  expect_filled(*opened(directory.path()));
}

TEST(ContentIndex, TheLogStaysSmall) {
  const TemporaryDirectory directory;
  const auto index = opened(directory.path());
  std::uintmax_t largest = 0;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(url_of(index->claim(digest_of(i), {std::string(i % 2000, 'u'), "date"})), "");
    if (i % 10 == 9) {
      ASSERT_TRUE(index->commit());
    }
    largest =
        std::max(largest, std::filesystem::file_size(ContentIndex::log_path(directory.path())));
  }
  EXPECT_LT(largest, 8u << 20);
  for (int i = 0; i < 20'000; ++i)
    ASSERT_EQ((**index->find(digest_of(i))).url.size(), static_cast<std::size_t>(i % 2000));
}

TEST(ContentIndex, ADamagedLogIsToldWithWhatToDo) {
  const TemporaryDirectory directory;
  {
    const auto index = opened(directory.path());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(index->claim(digest_of(i), copy_of(i)));
      ASSERT_TRUE(index->commit());
    }
  }
  {
    std::fstream file(ContentIndex::log_path(directory.path()),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file << "damage";
  }
  const auto index = ContentIndex::open(directory.path(), {});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(index.error().message, HasSubstr("CLAIMS is damaged at byte"));
  EXPECT_THAT(index.error().message, HasSubstr("remove that directory"));
}

TEST(ContentIndex, TextsMayBeAnyBytes) {
  const TemporaryDirectory directory;
  const std::string digests[] = {"",  std::string("\0", 1),    "sha1:\xff\xff", "format",
                                 "d", std::string(10'000, 'x')};
  {
    const auto index = opened(directory.path());
    for (const std::string& digest : digests)
      ASSERT_EQ(url_of(index->claim(digest, {digest + "\0\n", digest})), "");
    ASSERT_TRUE(index->commit());
  }
  const auto index = opened(directory.path());
  EXPECT_EQ(index->bodies(), std::size(digests));
  for (const std::string& digest : digests)
    EXPECT_EQ(**index->find(digest), (FirstCopy{digest + "\0\n", digest}));
}

// Many more than the filter is first made for, and the memory stays what was promised.
TEST(ContentIndex, ManyBodiesInLittleMemory) {
  constexpr int kBodies = 300'000;
  const TemporaryDirectory directory;
  auto made = ContentIndex::open(directory.path(), {.expected_bodies = 1});
  ASSERT_TRUE(made) << made.error().message;
  std::unique_ptr<ContentIndex> index = std::move(*made);
  std::uint64_t most = 0;
  for (int i = 0; i < kBodies; ++i) {
    ASSERT_EQ(url_of(index->claim(digest_of(i), copy_of(i))), "");
    if (i % 100 == 99) {
      ASSERT_TRUE(index->commit());
    }
    if (i % 10'000 == 0) most = std::max(most, index->memory());
  }
  EXPECT_EQ(index->bodies(), static_cast<std::uint64_t>(kBodies));
  EXPECT_LE(most, (16u << 20) + 2u * kBodies);
  for (int i = 0; i < kBodies; i += 997)
    ASSERT_EQ(**index->find(digest_of(i)), copy_of(i));
  index.reset();
  index = opened(directory.path());
  EXPECT_EQ(index->bodies(), static_cast<std::uint64_t>(kBodies));
  for (int i = 0; i < kBodies; i += 997)
    ASSERT_EQ(url_of(index->claim(digest_of(i), copy_of(-1))), copy_of(i).url);
}

TEST(ContentIndex, FindsWhileAnotherThreadClaims) {
  constexpr int kBodies = 20'000;
  const TemporaryDirectory directory;
  const auto index = opened(directory.path());
  std::atomic<int> claimed{0};  // all below were claimed
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      // Around the newest, also while the claims move to a database for the first time.
      for (int known = 0, step = 0; known < kBodies; ++step) {
        // acquire: pairs with the release below, so that what is known to be claimed is found.
        known = claimed.load(std::memory_order_acquire);
        const int i = step % 2 == 0 ? std::max(known - 5, 0) + step % 10 : step % (known + 1);
        const auto found = index->find(digest_of(i));
        const bool right = found && (*found ? **found == copy_of(i) : i >= known);
        wrong += right ? 0 : 1;
      }
    });
  }
  for (int i = 0; i < kBodies; ++i) {
    ASSERT_EQ(url_of(index->claim(digest_of(i), copy_of(i))), "");
    // release: pairs with the acquire above.
    claimed.store(i + 1, std::memory_order_release);
    if (i % 10 == 9) {
      ASSERT_TRUE(index->commit());
    }
  }
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ContentIndex, OneAtATime) {
  const TemporaryDirectory directory;
  const auto index = opened(directory.path());
  const auto second = ContentIndex::open(directory.path(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse) << second.error().message;
}

TEST(ContentIndex, DamageIsToldWithWhatToDo) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()));
  opened(directory.path()).reset();  // what was in the database's log is in a table now
  std::size_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file << "damage damage damage damage";
    ++damaged;
  }
  ASSERT_GT(damaged, 0u);
  const auto index = ContentIndex::open(directory.path(), {});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(index.error().message, HasSubstr(directory.path().string()));
  EXPECT_THAT(index.error().message, HasSubstr("remove that directory"));
}

// RocksDB would take such a directory for an empty one, and delete what is there.
TEST(ContentIndex, ALostHeadIsDamage) {
  const TemporaryDirectory directory;
  fill(*opened(directory.path()));
  std::filesystem::remove(directory / "CURRENT");
  const auto index = ContentIndex::open(directory.path(), {});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kCorrupt);
}

TEST(ContentIndex, AFullDiskIsToldAndNothingMoreTaken) {
  const test::SmallDisk disk(4u << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const std::filesystem::path directory = disk / "content";
  int committed = 0;
  {
    const auto index = opened(directory);
    Result<void> done;
    for (int i = 0; i < 1'000'000 && done; i += 100) {
      for (int k = i; k < i + 100; ++k)
        ASSERT_TRUE(index->claim(digest_of(k), copy_of(k)));
      done = index->commit();
      if (done) committed = i + 100;
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kNoSpace) << done.error().message;
    EXPECT_FALSE(index->claim("another", copy_of(0)));
    EXPECT_FALSE(index->commit());
  }
  EXPECT_GT(committed, 1000);
  // With room again, all that was committed is there.
  const TemporaryDirectory roomy;
  std::filesystem::copy(directory, roomy.path(), std::filesystem::copy_options::recursive);
  const auto index = opened(roomy.path());
  for (int i = 0; i < committed; ++i)
    ASSERT_EQ(url_of(index->find(digest_of(i))), copy_of(i).url);
}

}  // namespace
}  // namespace trawl
