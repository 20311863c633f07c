// What counts as offered before, and what has to be offered once more.
#include "crawler/run/known_links.h"

#include <string>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(KnownLinks, KnowsWhatWasOfferedAndNothingElse) {
  KnownLinks links{KeyedHash::random()};
  EXPECT_FALSE(links.knows("http://a.test/", 1, 0));
  EXPECT_FALSE(links.knows("http://a.test/", 1, 0)) << "asking is not offering";
  links.note_offered();
  EXPECT_TRUE(links.knows("http://a.test/", 1, 0));
  EXPECT_FALSE(links.knows("http://a.test/b", 1, 0));
}

TEST(KnownLinks, ASmallerDepthIsOfferedAgain) {
  KnownLinks links{KeyedHash::random()};
  EXPECT_FALSE(links.knows("http://a.test/", 5, 0));
  links.note_offered();
  EXPECT_TRUE(links.knows("http://a.test/", 7, 0));
  EXPECT_FALSE(links.knows("http://a.test/", 4, 0));
  links.note_offered();
  EXPECT_TRUE(links.knows("http://a.test/", 4, 0));
}

TEST(KnownLinks, OtherHopsOutOfScopeAreOfferedAgain) {
  KnownLinks links{KeyedHash::random()};
  EXPECT_FALSE(links.knows("http://a.test/", 1, 2));
  links.note_offered();
  EXPECT_FALSE(links.knows("http://a.test/", 1, 1));
  EXPECT_FALSE(links.knows("http://a.test/", 1, 3));
  EXPECT_TRUE(links.knows("http://a.test/", 1, 2));
}

TEST(KnownLinks, WhatDoesNotFitIsNeverKnown) {
  KnownLinks links{KeyedHash::random()};
  for (const auto& [depth, hops] : {std::pair(65'536u, 0u), std::pair(0u, 65'536u)}) {
    EXPECT_FALSE(links.knows("http://a.test/", depth, hops));
    links.note_offered();
    EXPECT_FALSE(links.knows("http://a.test/", depth, hops));
  }
  EXPECT_FALSE(links.knows("http://a.test/", 0, 0));
}

// Newer ones may take the places of others: then these are offered again, which is harmless.
TEST(KnownLinks, NeverTakesOneForAnotherHoweverFull) {
  KnownLinks links(KeyedHash::random(), 64);
  for (int i = 0; i < 10'000; ++i) {
    const std::string url = "http://a.test/" + std::to_string(i);
    ASSERT_FALSE(links.knows(url, 1, 0)) << url;
    links.note_offered();
    ASSERT_TRUE(links.knows(url, 1, 0)) << url;
  }
}

}  // namespace
}  // namespace trawl
