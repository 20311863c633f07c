#include "crawler/run/archived_lookups.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;

DnsLookup lookup_at(std::chrono::seconds time, std::vector<std::string> addresses,
                    std::string host = "a.test") {
  DnsLookup lookup;
  lookup.host = std::move(host);
  lookup.asked_at = std::chrono::system_clock::time_point(time);
  lookup.addresses = std::move(addresses);
  return lookup;
}

TEST(ArchivedLookups, TheFirstOfAHostAndEachChange) {
  ArchivedLookups archived;
  EXPECT_TRUE(archived.add(lookup_at(100s, {"1", "2"})));
  EXPECT_FALSE(archived.add(lookup_at(100s, {"1", "2"}))) << "for another page";
  EXPECT_FALSE(archived.add(lookup_at(200s, {"1", "2"}))) << "the same again";
  EXPECT_TRUE(archived.add(lookup_at(100s, {"1", "2"}, "b.test")));
  EXPECT_TRUE(archived.add(lookup_at(300s, {"1"})));
  EXPECT_FALSE(archived.add(lookup_at(250s, {"1", "2"}))) << "what another thread still knows";
  EXPECT_TRUE(archived.add(lookup_at(301s, {"12"})));
  EXPECT_TRUE(archived.add(lookup_at(302s, {"1", "2"}))) << "other texts of the same length";
}

TEST(ArchivedLookups, AfterAnHourTheSameIsWrittenAgain) {
  ArchivedLookups archived;
  EXPECT_TRUE(archived.add(lookup_at(100s, {"1"})));
  EXPECT_FALSE(archived.add(lookup_at(100s + 59min, {"1"})));
  EXPECT_TRUE(archived.add(lookup_at(100s + 60min, {"1"})));
  EXPECT_FALSE(archived.add(lookup_at(100s + 119min, {"1"})));
}

TEST(ArchivedLookups, ManyHostsAreForgotten) {
  ArchivedLookups archived;
  for (std::size_t i = 0; i <= ArchivedLookups::kMostHosts; ++i)
    ASSERT_TRUE(archived.add(lookup_at(1s, {"1"}, std::to_string(i))));
  EXPECT_FALSE(archived.add(lookup_at(1s, {"1"}, std::to_string(ArchivedLookups::kMostHosts))));
  EXPECT_TRUE(archived.add(lookup_at(1s, {"1"}, "0"))) << "bounded, so some are written twice";
}

}  // namespace
}  // namespace trawl
