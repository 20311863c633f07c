// The digests of bodies, against what the programs of others print.
#include "crawler/run/body_digest.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

std::string digest(DigestAlgorithm algorithm, bool warc, std::string_view body) {
  CrawlConfig::Output config;
  config.digest = algorithm;
  config.warc = warc;
  return BodyDigest(config)(body);
}

TEST(BodyDigest, IsWhatOtherProgramsPrint) {
  // sha1sum, in base32; xxhsum -H2.
  EXPECT_EQ(digest(DigestAlgorithm::kSha1, false, "abc"), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
  EXPECT_EQ(digest(DigestAlgorithm::kXxh128, true, ""), "xxh128:99aa06d3014798d86001c324468d497f");
}

TEST(BodyDigest, AutomaticallyIsThatOfTheArchive) {
  EXPECT_EQ(digest(DigestAlgorithm::kAuto, true, "abc"),
            digest(DigestAlgorithm::kSha1, false, "abc"));
  EXPECT_EQ(digest(DigestAlgorithm::kAuto, false, "abc"),
            digest(DigestAlgorithm::kXxh128, false, "abc"));
}

}  // namespace
}  // namespace trawl
