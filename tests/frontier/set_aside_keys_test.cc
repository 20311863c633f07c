// Other rules for keys: whatever lies at the new keys, and whenever a crash comes.
#include "frontier/recovery/set_aside_keys.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontier/store/queued_url.h"
#include "frontier/store/rocks_store.h"
#include "frontier/store/set_aside_record.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

class SetAsideKeysTest : public ::testing::Test {
 protected:
  SetAsideKeysTest()
      : store_(RocksStore::open(directory_.path() / "store", {.memory = MemoryPlan::of(64u << 20)})
                   .value()) {}

  static std::string record_of(const std::string& url) {
    return encode_set_aside({.state = SetAsideState::kFailed,
                             .reason = "r",
                             .url_record = encode_record({.url = url, .parent = {}, .note = {}})});
  }
  Fingerprint key_of(const std::string& url) const {
    return hash_(Canonicalizer(profile_).key(Url::parse(url).value()));
  }
  void put(Fingerprint key, const std::string& value) {
    Store::Batch batch;
    batch.set_aside(key, value);
    ++counters_.set_aside_failed;
    batch.set_counters(counters_);
    ASSERT_TRUE(store_->write(batch));
  }
  // By URL; those that do not decode by nothing.
  std::map<std::string, Fingerprint> keys() const {
    std::map<std::string, Fingerprint> keys;
    EXPECT_TRUE(store_->visit_set_aside(std::nullopt, [&](Fingerprint key, std::string_view value) {
      const auto record = decode_set_aside(value);
      const auto url = record ? set_aside_url(*record) : std::nullopt;
      EXPECT_TRUE(keys.emplace(url ? url->url : "", key).second);
      return true;
    }));
    return keys;
  }
  Result<bool> fit() { return fit_set_aside_keys(*store_, profile_, hash_, counters_); }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
  Profile profile_;
  const KeyedHash hash_ = KeyedHash::from_seed(1);
  Counters counters_;
};

TEST_F(SetAsideKeysTest, AKeyThatAnotherHadIsGivenOn) {
  constexpr std::uint64_t kSeed = 11;
  constexpr std::size_t kUrls = 5000;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < kUrls; ++i)
    urls.push_back(fmt::format("http://a.test/{}", i));
  // Rows and circles, as long as they come.
  std::vector<std::string> places = urls;
  std::mt19937_64 random(kSeed);
  std::shuffle(places.begin(), places.end(), random);
  for (std::size_t i = 0; i < kUrls; ++i) {
    if (i % 10 == 0) places[i] += "/elsewhere";
    put(key_of(places[i]), record_of(urls[i]));
  }
  ASSERT_TRUE(fit());
  const auto found = keys();
  ASSERT_EQ(found.size(), kUrls);
  for (const std::string& url : urls)
    EXPECT_EQ(found.at(url), key_of(url)) << url;
  EXPECT_EQ(counters_.set_aside_failed, kUrls);
  EXPECT_EQ(store_->counters().value(), counters_);
  EXPECT_EQ(store_->set_aside_rules().value(), "changed " + profile_.name());
}

TEST_F(SetAsideKeysTest, N1_WhatACrashInterruptedIsFinishedUnderWhicheverRules) {
  put(key_of("http://a.test/1"), record_of("http://a.test/1"));
  put(key_of("http://a.test/x"), record_of("http://a.test/2"));
  Store::Batch batch;
  batch.set_aside_rules({});
  ASSERT_TRUE(store_->write(batch));
  ASSERT_TRUE(fit());
  EXPECT_EQ(keys().at("http://a.test/2"), key_of("http://a.test/2"));
  // Nothing is read where all fit.
  put(key_of("http://a.test/x"), record_of("http://a.test/3"));
  ASSERT_TRUE(fit());
  EXPECT_EQ(keys().at("http://a.test/3"), key_of("http://a.test/x"));
}

TEST_F(SetAsideKeysTest, OfTheSameUrlOneStaysAndWhatIsDamagedIsLeft) {
  put(key_of("http://a.test/x"), record_of("http://a.test/1"));
  put(key_of("http://a.test/y"), record_of("http://a.test/1"));
  put(key_of("http://a.test/z"), "\xff");
  ASSERT_TRUE(fit());
  const auto found = keys();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("http://a.test/1"), key_of("http://a.test/1"));
  EXPECT_EQ(found.at(""), key_of("http://a.test/z"));
  EXPECT_EQ(counters_.set_aside_failed, 2u);
}

}  // namespace
}  // namespace trawl
