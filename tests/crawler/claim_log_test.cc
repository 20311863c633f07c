// The log of claims: what a crash leaves, and what is damage.
#include "crawler/output/claim_log.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::TemporaryDirectory;
using ::testing::HasSubstr;

using Claims = std::vector<std::pair<Fingerprint, std::string>>;

const KeyedHash::Key kKey = KeyedHash::from_seed(1).key();

struct Opened {
  Result<ClaimLog> log;
  Claims claims;
};

Opened replayed(const std::filesystem::path& file, const KeyedHash::Key& key = kKey) {
  Claims claims;
  auto log = ClaimLog::open(file);
  if (log) {
    const auto done = log->replay(key, false, [&](const ClaimLog::Claim& claim) {
      claims.emplace_back(claim.body, std::string(claim.record));
    });
    if (!done) log = tl::unexpected(done.error());
  }
  return {std::move(log), std::move(claims)};
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

Claims some_claims(std::uint64_t n) {
  Claims claims;
  for (std::uint64_t i = 0; i < n; ++i)
    claims.push_back({{i, ~i}, "record " + std::string(i, '\0')});
  return claims;
}

// A log with a commit for each claim. The sizes of the file after each of them, the empty log
// first.
std::vector<std::size_t> write_log(const std::filesystem::path& file, const Claims& claims) {
  auto log = replayed(file).log;
  EXPECT_TRUE(log);
  std::vector<std::size_t> sizes = {std::filesystem::file_size(file)};
  for (const auto& [body, record] : claims) {
    log->add({body, record});
    EXPECT_TRUE(log->commit(false));
    sizes.push_back(std::filesystem::file_size(file));
  }
  return sizes;
}

TEST(ClaimLog, ReplaysWhatWasCommitted) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(5);
  for (const bool sync : {false, true}) {
    {
      auto log = replayed(file).log;
      ASSERT_TRUE(log);
      EXPECT_FALSE(log->has_uncommitted());
      for (const auto& [body, record] : claims)
        log->add({body, record});
      EXPECT_TRUE(log->has_uncommitted());
      ASSERT_TRUE(log->commit(sync));
      log->add({{7, 7}, "not committed"});
    }
    {
      auto again = replayed(file);
      ASSERT_TRUE(again.log);
      EXPECT_EQ(again.claims, claims);
      ASSERT_TRUE(again.log->clear());
    }
    EXPECT_TRUE(replayed(file).claims.empty());
  }
}

TEST(ClaimLog, GoesOnAfterWhatItReplayed) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(4);
  for (const auto& [body, record] : claims) {
    auto log = replayed(file).log;
    ASSERT_TRUE(log);
    log->add({body, record});
    ASSERT_TRUE(log->commit(false));
  }
  EXPECT_EQ(replayed(file).claims, claims);
}

// Wherever the file ends, the commits before are whole, and the next ones are appended to them.
TEST(ClaimLog, ATornTailIsRemoved) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(4);
  const auto sizes = write_log(file, claims);
  const std::string whole = read(file);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(file, whole.substr(0, size));
    std::size_t commits = 0;
    while (commits + 1 < sizes.size() && sizes[commits + 1] <= size)
      ++commits;
    Claims expected(claims.begin(), claims.begin() + static_cast<std::ptrdiff_t>(commits));
    {
      auto torn = replayed(file);
      ASSERT_TRUE(torn.log) << size << ": " << torn.log.error().message;
      ASSERT_EQ(torn.claims, expected) << size;
      torn.log->add({{9, 9}, "later"});
      ASSERT_TRUE(torn.log->commit(false));
    }
    expected.push_back({{9, 9}, "later"});
    ASSERT_EQ(replayed(file).claims, expected) << size;
  }
}

// A power loss may leave a file that is longer than what was written.
TEST(ClaimLog, ATailOfZerosIsRemoved) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(3);
  write_log(file, claims);
  write(file, read(file) + std::string(10'000, '\0'));
  EXPECT_EQ(replayed(file).claims, claims);
}

// Any byte before the last commit.
TEST(ClaimLog, DamageIsFoundWhereverItIs) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(4);
  const auto sizes = write_log(file, claims);
  const std::string whole = read(file);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    write(file, bytes);
    const auto damaged = replayed(file);
    if (i >= sizes[sizes.size() - 2]) {  // as if the last commit were unfinished
      ASSERT_TRUE(damaged.log) << i;
      ASSERT_EQ(damaged.claims, Claims(claims.begin(), claims.end() - 1)) << i;
      continue;
    }
    ASSERT_FALSE(damaged.log) << i;
    if (i >= 8 && i < 12) {
      ASSERT_EQ(damaged.log.error().code, ErrorCode::kUnsupportedVersion) << i;
    } else {
      ASSERT_EQ(damaged.log.error().code, ErrorCode::kCorrupt) << i;
    }
    ASSERT_THAT(damaged.log.error().message, HasSubstr(file)) << i;
  }
}

// A power loss may leave the size of a file, but not what is in it.
TEST(ClaimLog, NothingButZerosIsANewLog) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  for (const std::size_t size : {1u, 47u, 48u, 49u, 5000u}) {
    write(file, std::string(size, '\0'));
    EXPECT_TRUE(replayed(file).claims.empty());
    EXPECT_EQ(ClaimLog::open(file)->key(), kKey) << size;
  }
}

// The same where a part of the header is there.
TEST(ClaimLog, APartOfAHeaderAndZerosAreANewLog) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const std::size_t header = write_log(file, {}).front();
  const std::string whole = read(file);
  ASSERT_EQ(whole.size(), header);
  for (std::size_t part = 0; part < header; ++part) {
    if (whole[part] == '\0') continue;
    for (const std::size_t size : {header, header + 1, std::size_t{5000}}) {
      SCOPED_TRACE(std::to_string(part) + " of " + std::to_string(size));
      write(file, whole.substr(0, part) + std::string(size - part, '\0'));
      EXPECT_TRUE(ClaimLog::is_one(file));
      EXPECT_TRUE(replayed(file).log);
      EXPECT_EQ(ClaimLog::open(file)->key(), kKey);
      // Zeros are not all there is, so it was not a crash.
      write(file, whole.substr(0, part) + std::string(size - part, '\0') + "x");
      const auto damaged = replayed(file);
      ASSERT_FALSE(damaged.log);
    }
  }
}

TEST(ClaimLog, KeepsItsKey) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  EXPECT_FALSE(ClaimLog::open(file)->key());
  EXPECT_FALSE(ClaimLog::open(file)->key()) << "it is written by replay()";
  write_log(file, some_claims(1));
  EXPECT_EQ(ClaimLog::open(file)->key(), kKey);
  const auto other = replayed(file, KeyedHash::from_seed(2).key());
  ASSERT_FALSE(other.log);
  EXPECT_EQ(other.log.error().code, ErrorCode::kCorrupt);
}

TEST(ClaimLog, IsOpenOnce) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  {
    const auto log = ClaimLog::open(file);
    ASSERT_TRUE(log);
    const auto second = ClaimLog::open(file);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  }
  EXPECT_TRUE(ClaimLog::open(file));
}

TEST(ClaimLog, KnowsAFileOfAnother) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  EXPECT_FALSE(ClaimLog::is_one(file));
  write(file, "");
  EXPECT_TRUE(ClaimLog::is_one(file));
  write(file, "Claims of the insurance");
  EXPECT_FALSE(ClaimLog::is_one(file));
  std::filesystem::remove(file);
  write_log(file, some_claims(1));
  EXPECT_TRUE(ClaimLog::is_one(file));
  std::filesystem::create_symlink(file, directory / "link");
  EXPECT_FALSE(ClaimLog::is_one(directory / "link"));
}

}  // namespace
}  // namespace trawl
