#include "crawler/http/site_cookies.h"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Lines = std::vector<std::string>;

std::string cookie(std::string_view name, std::string_view value,
                   std::string_view host = "a.example") {
  return fmt::format("{}\tFALSE\t/\tFALSE\t0\t{}\t{}", host, name, value);
}

CookiesFile file_of(const std::string& site, Lines lines) {
  CookiesFile file;
  file.sites.push_back({site, std::move(lines)});
  return file;
}

Lines lines(SiteCookies& cookies, const std::string& site = "a.example") {
  const auto found = cookies.find(site, 0);
  return found ? found->lines : Lines();
}

TEST(SiteCookies, VersionsTellWhatIsNew) {
  SiteCookies cookies;
  EXPECT_EQ(cookies.find("a.example", 0), nullptr);
  const auto first = cookies.put("a.example", 0, {cookie("n", "1")});
  EXPECT_EQ(cookies.find("a.example", first), nullptr) << "known";
  const auto second = cookies.put("a.example", first, {cookie("n", "2")});
  ASSERT_NE(cookies.find("a.example", first), nullptr);
  EXPECT_EQ(cookies.find("a.example", first)->version, second);
  EXPECT_THAT(lines(cookies), ElementsAre(cookie("n", "2")));
  cookies.put("a.example", second, {});
  EXPECT_THAT(lines(cookies), IsEmpty()) << "deleted by the server";
}

TEST(SiteCookies, ChangesOfTwoThreadsAreBothKept) {
  SiteCookies cookies;
  const auto base = cookies.put("a.example", 0, {cookie("a", "1"), cookie("b", "1")});
  cookies.put("a.example", base, {cookie("a", "2"), cookie("b", "1")});
  cookies.put("a.example", base, {cookie("a", "1"), cookie("b", "1"), cookie("c", "3")});
  EXPECT_THAT(lines(cookies),
              UnorderedElementsAre(cookie("a", "1"), cookie("b", "1"), cookie("c", "3")))
      << "the later change of one cookie counts";
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cookies, thread] {
      std::uint64_t known = 0;
      for (int i = 0; i < 200; ++i) {
        const auto changed = cookies.find("b.example", known);
        Lines mine = changed ? changed->lines : Lines();
        known = changed ? changed->version : known;
        mine.push_back(cookie(fmt::format("{}-{}", thread, i), "v"));
        known = cookies.put("b.example", changed ? known : 0, mine);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(lines(cookies, "b.example").size(), 800u);
}

TEST(SiteCookies, ImportedOnesStay) {
  SiteCookies cookies;
  cookies.import(file_of("a.example", {cookie("n", "mine")}));
  EXPECT_TRUE(cookies.find("a.example", 0)->imported);
  const std::string large(7000, 'x');
  for (int i = 0; i < 3000; ++i) {
    const std::string site = fmt::format("s{}.example", i);
    cookies.put(site, 0, {cookie("n", large, site)});
  }
  EXPECT_THAT(lines(cookies), ElementsAre(cookie("n", "mine")));
  EXPECT_THAT(lines(cookies, "s0.example"), IsEmpty()) << "8 MiB of others are kept";
  EXPECT_EQ(lines(cookies, "s2999.example").size(), 1u);
  EXPECT_THAT(cookies.imported("a.example"), ElementsAre(cookie("n", "mine")));
  EXPECT_THAT(cookies.imported("s2999.example"), IsEmpty());
}

TEST(SiteCookies, KeptForTheNextRun) {
  const test::TemporaryDirectory directory;
  const auto& state = directory.path();
  {
    SiteCookies cookies;
    ASSERT_TRUE(cookies.save(state));
    EXPECT_FALSE(std::filesystem::exists(SiteCookies::path(state))) << "nothing to keep";
    cookies.import(file_of("a.example", {cookie("n", "mine")}));
    cookies.put("b.example", 0, {cookie("n", "1", "b.example")});
    ASSERT_TRUE(cookies.save(state));
    struct stat facts {};
    ASSERT_EQ(::stat(SiteCookies::path(state).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
  }
  {
    SiteCookies cookies;
    cookies.add(SiteCookies::read(state).value());
    EXPECT_TRUE(cookies.find("a.example", 0)->imported) << "without the user's file, too";
    EXPECT_FALSE(cookies.find("b.example", 0)->imported);
  }
  SiteCookies cookies;
  cookies.import(file_of("a.example", {cookie("n", "older"), cookie("m", "x")}));
  cookies.add(SiteCookies::read(state).value());
  EXPECT_THAT(lines(cookies), UnorderedElementsAre(cookie("n", "mine"), cookie("m", "x")));
  EXPECT_TRUE(cookies.find("a.example", 0)->imported);
  EXPECT_FALSE(cookies.find("b.example", 0)->imported);
  EXPECT_EQ(lines(cookies, "b.example").size(), 1u);
}

// What servers set may be more than a user's file may have.
TEST(SiteCookies, AllThatIsSavedIsReadAgain) {
  const test::TemporaryDirectory directory;
  const auto& state = directory.path();
  SiteCookies cookies;
  Lines full;
  for (int i = 0; i < 12; ++i)
    full.push_back(cookie(fmt::format("n{}", i), std::string(1000, 'x')));
  cookies.put("a.example", 0, full);
  const Lines odd = {
      fmt::format("b.example\tFALSE\t/{}\tFALSE\t0\t\tno name", std::string(20'000, 'p')),
      "::1\tFALSE\t/\tFALSE\t0\tn\tv"};
  cookies.put("[::1]", 0, odd);
  CookiesFile large;
  constexpr std::size_t kSites = 12'000;
  for (std::size_t i = 0; i < kSites; ++i) {
    const std::string site = fmt::format("s{}.example", i);
    large.sites.push_back({site, {cookie("n", std::string(6000, 'x'), site)}});
  }
  cookies.import(large);
  cookies.import(file_of("empty.example", {}));
  ASSERT_TRUE(cookies.save(state));
  EXPECT_GT(std::filesystem::file_size(SiteCookies::path(state)), 64u << 20);

  const auto stored = SiteCookies::read(state);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->damaged, 0u);
  SiteCookies later;
  later.add(*stored);
  EXPECT_EQ(lines(later), full);
  EXPECT_EQ(lines(later, "[::1]"), odd);
  EXPECT_FALSE(later.find("[::1]", 0)->imported);
  EXPECT_TRUE(later.find("empty.example", 0)->imported);
  for (const CookiesOfSite& site : large.sites) {
    ASSERT_EQ(lines(later, site.site), site.lines);
    ASSERT_TRUE(later.find(site.site, 0)->imported);
  }
}

TEST(SiteCookies, WhatIsNotReadIsSaid) {
  const test::TemporaryDirectory directory;
  const auto& state = directory.path();
  EXPECT_FALSE(SiteCookies::read(state)) << "no file";
  std::ofstream(SiteCookies::path(state))
      << "# Netscape HTTP Cookie File\n# site: a.example\nnonsense\n"
      << cookie("n", "v") << "\na.example\tFALSE\t/\tFALSE\t5\tgone\tv\n"
      << std::string(2u << 20, 'x') << "\na.example\tFALSE\t";
  const auto stored = SiteCookies::read(state);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->damaged, 3u);
  ASSERT_EQ(stored->sites.size(), 1u);
  EXPECT_THAT(stored->sites[0].cookies.lines, ElementsAre(cookie("n", "v")));
}

}  // namespace
}  // namespace trawl
