#include "crawler/output/known_bodies.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::TemporaryDirectory;

// An earlier crawl's index with a record of each body.
class Indexes {
 public:
  std::string write(const std::string& name, const std::vector<std::string>& bodies) const {
    std::ofstream file(directory_ / name);
    for (const std::string& body : bodies)
      file << "com,example)/" << body << R"( 20250102030405 {"url": "http://)" << name << "/"
           << body << R"(", "mime": "text/html", "status": "200", "digest": "sha1:)" << body
           << "\"}\n";
    return directory_ / name;
  }
  std::string pattern() const { return directory_ / "*.cdxj"; }
  const std::filesystem::path& known() const { return known_.path(); }

  // What is known of the bodies A, B and C: the files that have them.
  std::string found(const std::vector<std::string>& patterns) const {
    const auto known = KnownBodies::open(known_.path(), patterns);
    if (!known) return known.error().message;
    std::string text;
    for (const char* body : {"A", "B", "C"}) {
      const auto copy = (*known)->find(std::string("sha1:") + body);
      if (!copy) return copy.error().message;
      text += *copy ? (*copy)->url.substr(7, (*copy)->url.find('.') - 7) : "-";
    }
    return text;
  }

 private:
  TemporaryDirectory directory_, known_;
};

TEST(KnownBodies, WhatIsNotNamedAnyMoreIsNotKnown) {
  const Indexes indexes;
  const std::string x = indexes.write("x.cdxj", {"A"});
  const std::string y = indexes.write("y.cdxj", {"A", "B"});
  EXPECT_EQ(indexes.found({x}), "x--");
  EXPECT_EQ(indexes.found({x, y}), "xy-");
  EXPECT_EQ(indexes.found({y, x, y, indexes.pattern()}), "xy-") << "the same files";
  EXPECT_EQ(indexes.found({y}), "yy-") << "what x had first is that of y";
  EXPECT_EQ(indexes.found({x}), "x--");
  const std::string z = indexes.write("z.cdxj", {"C"});
  EXPECT_EQ(indexes.found({indexes.pattern()}), "xyz") << "more than before";
  std::filesystem::remove(y);
  EXPECT_EQ(indexes.found({indexes.pattern()}), "x-z") << "its file is gone";
  // The line of one is a part of the other's.
  EXPECT_EQ(indexes.found({z}), "--z");
}

TEST(KnownBodies, AChangedIndexIsReadAnew) {
  const Indexes indexes;
  const std::string x = indexes.write("x.cdxj", {"A", "B"});
  EXPECT_EQ(indexes.found({x}), "xx-");
  indexes.write("x.cdxj", {"B", "C", "C"});
  EXPECT_EQ(indexes.found({x}), "-xx");
}

// What a crash, or an error, leaves while indexes are read: some bodies, and no word of which.
TEST(KnownBodies, WhatWasReadInPartIsReadAnew) {
  const Indexes indexes;
  const std::string x = indexes.write("x.cdxj", {"A"});
  const std::string y = indexes.write("y.cdxj", {"B"});
  const std::string bad = indexes.write("z.cdxj", {});
  std::ofstream(bad) << "no index\nat all\n";
  EXPECT_THAT(indexes.found({x, y, bad}), ::testing::HasSubstr("is not a CDXJ index"));
  EXPECT_EQ(indexes.found({y}), "-y-");
  EXPECT_THAT(indexes.found({x, y, bad}), ::testing::HasSubstr("is not a CDXJ index"));
  EXPECT_EQ(indexes.found({x, y}), "xy-");
}

TEST(KnownBodies, Forgotten) {
  const Indexes indexes;
  EXPECT_EQ(indexes.found({indexes.write("x.cdxj", {"A"})}), "x--");
  ASSERT_TRUE(KnownBodies::forget(indexes.known()));
  EXPECT_FALSE(std::filesystem::exists(indexes.known()));
  EXPECT_TRUE(KnownBodies::forget(indexes.known())) << "there is nothing to forget";
}

}  // namespace
}  // namespace trawl
