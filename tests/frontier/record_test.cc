// The records of the store except those of queued URLs: hosts, ledger, counters, keys.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/big_endian.h"
#include "frontier/store/host_record.h"
#include "frontier/store/ledger_record.h"
#include "frontier/store/memory_plan.h"
#include "frontier/store/store_records.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

constexpr auto kMostCounted = std::numeric_limits<std::uint32_t>::max();
constexpr auto kMaxNumber = std::numeric_limits<std::uint64_t>::max();
constexpr auto kMaxTime = std::numeric_limits<std::int64_t>::max();
constexpr auto kMinTime = std::numeric_limits<std::int64_t>::min();

std::vector<HostRecord> some_hosts() {
  return {{},
          {.name = "a.test:8080"},
          {.name = "a", .delay = milliseconds(0)},
          {.name = "a", .delay = milliseconds(1'234'567)},
          {.name = "a", .max_leases = 0},
          {.name = "a", .max_leases = kMostCounted},
          {.name = "a", .remaining = 0},
          {.name = "a", .remaining = kMaxNumber},
          {.name = "a", .failures = kMostCounted},
          {.name = "a", .blocked_until = kMaxTime},
          {.name = "a", .blocked_until = kMinTime},
          {.name = "a", .given_up = true},
          {.name = std::string(300, 'x'),
           .delay = milliseconds(1),
           .exact_delay = true,
           .max_leases = 2,
           .remaining = 3,
           .failures = 4,
           .blocked_until = 5,
           .given_up = true,
           .answered = true},
          {.name = "", .answered = true}};
}

TEST(HostRecord, RoundTrips) {
  for (const HostRecord& host : some_hosts()) {
    const auto back = decode_host(encode_host(host));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, host);
  }
}

TEST(HostRecord, CutShortOrWithMoreBehindIsRefused) {
  for (const HostRecord& host : some_hosts()) {
    const std::string value = encode_host(host);
    for (std::size_t n = 0; n < value.size(); ++n)
      EXPECT_FALSE(decode_host(value.substr(0, n)));
    EXPECT_FALSE(decode_host(value + "x"));
  }
  EXPECT_FALSE(decode_host(std::string("\x80\x02\0", 3))) << "a part that no host has";
  EXPECT_FALSE(decode_host(std::string("\x02\0\x80\x80\x80\x80\x10", 7))) << "2^32 leases";
  EXPECT_FALSE(decode_host(std::string("\x08\0\x80\x80\x80\x80\x10", 7))) << "2^32 failures";
}

TEST(LedgerRecord, RoundTrips) {
  for (const std::uint32_t fetches : {0u, 1u, 127u, 128u, kMostCounted}) {
    for (const int status : {0, 200, 999, std::numeric_limits<int>::max(), -1}) {
      for (const std::int64_t fetched :
           {std::int64_t{0}, std::int64_t{1'700'000'000'000}, kMaxTime, kMinTime}) {
        const LedgerRecord record{.fetches = fetches, .status = status, .fetched = fetched};
        const auto back = decode_ledger(encode_ledger(record));
        ASSERT_TRUE(back);
        EXPECT_EQ(*back, record);
      }
    }
  }
  EXPECT_EQ(encode_ledger({}).size(), 1u) << "of a URL that was never fetched";
}

TEST(LedgerRecord, CutShortOrWithMoreBehindIsRefused) {
  const std::string value = encode_ledger({.fetches = 1, .status = 404, .fetched = 5});
  for (std::size_t n = 0; n < value.size(); ++n) {
    // Without all behind the count it is the record of a URL without a last fetch.
    EXPECT_EQ(decode_ledger(value.substr(0, n)).has_value(), n == 1) << n;
  }
  EXPECT_FALSE(decode_ledger(value + "x"));
  EXPECT_FALSE(decode_ledger(std::string("\x80\x80\x80\x80\x10", 5))) << "2^32 fetches";
}

// In a block of exactly their size, so that a sanitizer sees a read beyond them.
TEST(Records, RandomBytesAreDecodedWithoutReadingBeyondThem) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::size_t decoded = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::vector<char> bytes(random() % 20);
    for (char& byte : bytes)
      byte = static_cast<char>(random() % (i % 2 == 0 ? 256 : 16));
    const std::string_view value(bytes.data(), bytes.size());
    decoded += decode_host(value) ? 1 : 0;
    decoded += decode_ledger(value) ? 1 : 0;
    decoded += decode_counters(value) ? 1 : 0;
    decoded += decode_depth(value) ? 1 : 0;
    decoded += decode_number_key(value) ? 1 : 0;
    decoded += decode_fingerprint_key(value) ? 1 : 0;
    decoded += decode_deferred(value, value) ? 1 : 0;
    std::vector<Fingerprint> fingerprints;
    EXPECT_EQ(decode_fingerprints(value, fingerprints), value.size() % 16 == 0);
  }
  EXPECT_GT(decoded, 1000u) << "some are records by chance";
}

TEST(Records, CountersOfPartsAreAddedButThoseThatAreTheGreatest) {
  Counters sum, part;
  sum.admitted = 3;
  sum.seen_only = 1;
  sum.deepest = 7;
  sum.clock = 100;
  part.admitted = 4;
  part.held = 5;
  part.deepest = 6;
  part.clock = 200;
  add_counters(sum, part);
  EXPECT_EQ(sum.admitted, 7u);
  EXPECT_EQ(sum.seen_only, 1u);
  EXPECT_EQ(sum.held, 5u);
  EXPECT_EQ(sum.deepest, 7u);
  EXPECT_EQ(sum.clock, 200u);
}

TEST(Records, CountersRoundTripEachInItsPlace) {
  Counters counters;
  auto* const first = reinterpret_cast<std::uint64_t*>(&counters);
  constexpr std::size_t kCount = sizeof(Counters) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < kCount; ++i)
    first[i] = kMaxNumber - i * i;
  const std::string value = encode_counters(counters);
  EXPECT_EQ(decode_counters(value), counters);
  // A store of format 3 ends earlier: what is missing is 0.
  constexpr std::size_t kLeast = 15;
  std::size_t whole = 0;
  for (std::size_t n = 0; n < value.size(); ++n) {
    whole += n > 0 && (value[n - 1] & 0x80) == 0 ? 1 : 0;
    const bool ends_a_number = n > 0 && (value[n - 1] & 0x80) == 0;
    EXPECT_EQ(decode_counters(value.substr(0, n)).has_value(), ends_a_number && whole >= kLeast);
  }
  EXPECT_FALSE(decode_counters(value + '\0'));
}

TEST(Records, DeferredKeysSortByTimeThenSequence) {
  std::vector<std::string> keys;
  for (const std::int64_t time : {kMinTime, std::int64_t{-1}, std::int64_t{0}, std::int64_t{255},
                                  std::int64_t{256}, kMaxTime}) {
    for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{256}, kMaxNumber}) {
      keys.emplace_back(view(deferred_key(time, sequence)));
      std::string value;
      encode_deferred(value, 77, -5, "record");
      const auto url = decode_deferred(keys.back(), value);
      ASSERT_TRUE(url);
      EXPECT_EQ(url->not_before, time);
      EXPECT_EQ(url->sequence, sequence);
      EXPECT_EQ(url->host, 77u);
      EXPECT_EQ(url->priority, -5);
      EXPECT_EQ(url->record, "record");
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST(Records, FingerprintsRoundTrip) {
  const std::vector<Fingerprint> some = {{.high = 1, .low = kMaxNumber}, {}, {.high = 3, .low = 4}};
  std::string value;
  encode_fingerprints(value, some);
  std::vector<Fingerprint> back;
  ASSERT_TRUE(decode_fingerprints(value, back));
  EXPECT_EQ(back, some);
  EXPECT_FALSE(decode_fingerprints(value + "x", back));
  for (const Fingerprint& fingerprint : some)
    EXPECT_EQ(decode_fingerprint_key(view(fingerprint_key(fingerprint))), fingerprint);
  EXPECT_LT(view(fingerprint_key({.high = 1, .low = 255})),
            view(fingerprint_key({.high = 1, .low = 256})));
}

TEST(MemoryPlan, LeavesRoomForWhatIsNotPlanned) {
  const auto check = [](std::uint64_t whole, bool exact) {
    const MemoryPlan plan = MemoryPlan::of(whole, exact);
    const std::uint64_t parts = plan.write_buffers + plan.block_cache + plan.heads + plan.commits +
                                plan.ledger_cache + plan.depths;
    EXPECT_LE(parts, whole / 100 * 86);
    EXPECT_GE(parts, whole / 100 * 50);
    for (const std::uint64_t part :
         {plan.write_buffers, plan.block_cache, plan.heads, plan.commits, plan.depths})
      EXPECT_GE(part, 2u << 20);
    if (exact) {
      EXPECT_GE(plan.ledger_cache, 2u << 20);
    } else {
      EXPECT_EQ(plan.ledger_cache, 0u);
    }
  };
  for (const std::uint64_t mib : {64, 256, 1024, 65536}) {
    SCOPED_TRACE(mib);
    check(mib << 20, true);
    check(mib << 20, false);
  }
}

}  // namespace
}  // namespace trawl
