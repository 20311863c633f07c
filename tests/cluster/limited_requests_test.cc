#include "frontier/limited_requests.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crawler/decide/host_limits.h"

namespace trawl {
namespace {

constexpr std::string_view kParent = "http://parent.test/";

std::vector<std::string> urls(int n) {
  std::vector<std::string> urls;
  for (int i = 0; i < n; ++i)
    urls.push_back(fmt::format("http://h.test/{}", i));
  return urls;
}

std::vector<UrlRequest> links_to(const std::vector<std::string>& urls) {
  std::vector<UrlRequest> links;
  for (const std::string& url : urls)
    links.push_back({.url = url, .depth = 1, .parent = kParent});
  return links;
}

// The answers of a frontier that knows none of them.
std::vector<Admission> all_new(const LimitedRequests& limited) {
  std::vector<Admission> answers;
  for (const UrlRequest& request : limited.requests())
    answers.push_back(request.hold ? Admission::kHeld : Admission::kNew);
  return answers;
}

TEST(LimitedRequests, WhatExceedsTheLimitIsHeld) {
  HostUrlQuota quota(3);
  quota.note("h.test", "http://h.test/", Admission::kNew);
  const auto found = urls(5);
  const auto links = links_to(found);
  LimitedRequests limited(quota, links);
  const auto held = std::ranges::count_if(
      limited.requests(), [](const UrlRequest& url) { return url.hold.has_value(); });
  EXPECT_EQ(held, 3);
  EXPECT_FALSE(limited.requests()[1].hold);
  ASSERT_TRUE(limited.requests()[2].hold);
  EXPECT_EQ(limited.requests()[2].hold->reason, "too many URLs of the host");
  EXPECT_EQ(limited.answered(all_new(limited)), 3u);
  EXPECT_EQ(quota.count("h.test"), 3u);
}

TEST(LimitedRequests, KnownUrlsTakeNoPlaceAndDoNotExceedTheLimit) {
  HostUrlQuota quota(3);
  const auto found = urls(5);
  const auto links = links_to(found);
  {
    LimitedRequests limited(quota, links);
    EXPECT_EQ(limited.answered(std::vector(5, Admission::kSeen)), 0u);
  }
  EXPECT_EQ(quota.count("h.test"), 0u);
}

TEST(LimitedRequests, UrlsOfABucketThatIsLostTakeNoPlace) {
  HostUrlQuota quota(3);
  const auto found = urls(2);
  const auto links = links_to(found);
  {
    LimitedRequests limited(quota, links);
    limited.answered(std::vector(2, Admission::kForwarded));
  }
  { const LimitedRequests not_answered(quota, links); }
  EXPECT_EQ(quota.count("h.test"), 0u);
}

TEST(LimitedRequests, SeedsExceedTheLimitAndCountAndWhatWasAdmittedBeforePasses) {
  HostUrlQuota quota(1);
  const auto found = urls(4);
  auto requests = links_to(found);
  requests[0].parent = requests[1].parent = {};
  requests[2].again = true;
  LimitedRequests limited(quota, requests);
  EXPECT_FALSE(limited.requests()[1].hold);
  EXPECT_FALSE(limited.requests()[2].hold);
  EXPECT_EQ(limited.answered(std::vector(4, Admission::kNew)), 0u);
  EXPECT_EQ(quota.count("h.test"), 3u) << "two seeds and a link";
}

TEST(LimitedRequests, QueuesAreCountedByTheirNames) {
  HostUrlQuota quota(1);
  const auto found = urls(3);
  auto requests = links_to(found);
  requests[1].queue = requests[2].queue = "a queue";
  LimitedRequests limited(quota, requests);
  EXPECT_FALSE(limited.requests()[0].hold);
  EXPECT_FALSE(limited.requests()[1].hold);
  EXPECT_TRUE(limited.requests()[2].hold);
  limited.answered(all_new(limited));
  EXPECT_EQ(quota.count("a queue"), 1u);
}

}  // namespace
}  // namespace trawl
