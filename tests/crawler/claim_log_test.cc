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

Opened opened(const std::filesystem::path& file, const KeyedHash::Key& key = kKey) {
  Claims claims;
  auto log = ClaimLog::open(file, key, false, [&](const ClaimLog::Claim& claim) {
    claims.emplace_back(claim.body, std::string(claim.record));
  });
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
  auto log = opened(file).log;
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
      auto log = opened(file).log;
      ASSERT_TRUE(log);
      EXPECT_FALSE(log->has_uncommitted());
      for (const auto& [body, record] : claims)
        log->add({body, record});
      EXPECT_TRUE(log->has_uncommitted());
      ASSERT_TRUE(log->commit(sync));
      log->add({{7, 7}, "not committed"});
    }
    auto again = opened(file);
    ASSERT_TRUE(again.log);
    EXPECT_EQ(again.claims, claims);
    ASSERT_TRUE(again.log->clear());
    EXPECT_TRUE(opened(file).claims.empty());
  }
}

TEST(ClaimLog, GoesOnAfterWhatItReplayed) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(4);
  for (const auto& [body, record] : claims) {
    auto log = opened(file).log;
    ASSERT_TRUE(log);
    log->add({body, record});
    ASSERT_TRUE(log->commit(false));
  }
  EXPECT_EQ(opened(file).claims, claims);
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
      auto torn = opened(file);
      ASSERT_TRUE(torn.log) << size << ": " << torn.log.error().message;
      ASSERT_EQ(torn.claims, expected) << size;
      torn.log->add({{9, 9}, "later"});
      ASSERT_TRUE(torn.log->commit(false));
    }
    expected.push_back({{9, 9}, "later"});
    ASSERT_EQ(opened(file).claims, expected) << size;
  }
}

// A power loss may leave a file that is longer than what was written.
TEST(ClaimLog, ATailOfZerosIsRemoved) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  const Claims claims = some_claims(3);
  write_log(file, claims);
  write(file, read(file) + std::string(10'000, '\0'));
  EXPECT_EQ(opened(file).claims, claims);
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
    const auto damaged = opened(file);
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

TEST(ClaimLog, BelongsToOneKey) {
  const TemporaryDirectory directory;
  const auto file = directory / "CLAIMS";
  write_log(file, some_claims(1));
  const auto other = opened(file, KeyedHash::from_seed(2).key());
  ASSERT_FALSE(other.log);
  EXPECT_EQ(other.log.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace trawl
