#include "trawl/mapped_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numbers>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"

#include "filter/growing/growing_bloom_filter_state.h"
#include "tests/support/filter_keys.h"
#include "tests/support/snapshot_file.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::SnapshotFile;

using test::nth_key;
using test::some_keys;

template <class Filter>
std::vector<bool> answers_of(const Filter& filter, std::span<const Fingerprint> keys) {
  const auto found = std::make_unique<bool[]>(keys.size());
  const std::span<bool> answers(found.get(), keys.size());
  const std::size_t count = filter.contains_batch(keys, answers);
  EXPECT_EQ(count, static_cast<std::size_t>(std::ranges::count(answers, true)));
  return std::vector<bool>(answers.begin(), answers.end());
}

void expect_equal_stats(const FilterStats& mapped, const FilterStats& loaded) {
  EXPECT_EQ(mapped.capacity, loaded.capacity);
  EXPECT_EQ(mapped.target_rate, loaded.target_rate);
  EXPECT_EQ(mapped.inserted, loaded.inserted);
  EXPECT_EQ(mapped.memory_bytes, loaded.memory_bytes);
  EXPECT_EQ(mapped.hashes, loaded.hashes);
  EXPECT_EQ(mapped.layers, loaded.layers);
  EXPECT_NEAR(mapped.fill, loaded.fill, 0.02);  // from samples of other sizes
  EXPECT_NEAR(mapped.current_rate, loaded.current_rate, 1e-9 * loaded.current_rate);
  EXPECT_NEAR(mapped.expected_false_positives, loaded.expected_false_positives,
              1e-6 * loaded.expected_false_positives);
}

class MappedFilterTest : public ::testing::Test {
 protected:
  BlockedBloomFilter save_blocked(std::uint64_t capacity, double rate, std::uint64_t keys,
                                  std::uint64_t seed = 1) {
    auto filter =
        BlockedBloomFilter::create({.capacity = capacity, .false_positive_rate = rate}).value();
    for (std::uint64_t i = 0; i < keys; ++i)
      filter.insert(nth_key(i, seed));
    EXPECT_TRUE(filter.save(path_));
    return filter;
  }
  MappedFilter open() { return MappedFilter::open(path_).value(); }
  Error refusal() {
    const auto opened = MappedFilter::open(path_);
    if (opened) ADD_FAILURE() << "was opened";
    return opened ? Error{} : opened.error();
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "filter.trawl";
};

TEST_F(MappedFilterTest, AnswersAsTheFilterThatWasSaved) {
  for (const double rate : {1e-1, 1e-2, 1e-4, 1e-6, 1e-9}) {
    SCOPED_TRACE(rate);
    const auto filter = save_blocked(50'000, rate, 60'000);
    const MappedFilter mapped = open();
    EXPECT_EQ(mapped.kind(), FilterKind::kBlocked);
    EXPECT_EQ(mapped.hash().key(), filter.hash().key());
    EXPECT_TRUE(mapped.verify());
    const auto present = some_keys(60'000), others = some_keys(60'000, 2);
    const auto found = answers_of(mapped, present);
    EXPECT_TRUE(std::ranges::all_of(found, [](bool yes) { return yes; }));
    const auto expected = answers_of(filter, others);
    EXPECT_EQ(answers_of(mapped, others), expected);
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(mapped.contains(present[i]));
      ASSERT_EQ(mapped.contains(others[i]), expected[i]);
    }
    expect_equal_stats(mapped.stats(), filter.stats());
  }
}

TEST_F(MappedFilterTest, ChunksLeftOutOfTheFileHoldNoKey) {
  const auto filter = save_blocked(1'000'000, 1e-6, 3);  // in some 75 chunks
  const MappedFilter mapped = open();
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(mapped.contains(nth_key(i)));
  const auto others = some_keys(100'000, 2);
  EXPECT_EQ(answers_of(mapped, others), std::vector<bool>(others.size(), false));
  expect_equal_stats(mapped.stats(), filter.stats());
  save_blocked(1'000'000, 1e-6, 0);
  EXPECT_FALSE(open().contains(nth_key(0)));
  EXPECT_EQ(open().stats().fill, 0);
}

TEST_F(MappedFilterTest, BatchesOfAnySizeAnswerAsSingleCallsDo) {
  save_blocked(10'000, 1e-2, 10'000);
  const MappedFilter mapped = open();
  auto keys = some_keys(500);
  for (std::size_t i = 0; i < keys.size(); i += 2)
    keys[i] = nth_key(i, 2);
  for (const std::size_t size : {0u, 1u, 2u, 15u, 16u, 17u, 31u, 500u}) {
    SCOPED_TRACE(size);
    const std::span<const Fingerprint> part(keys.data(), size);
    const auto answers = answers_of(mapped, part);
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(answers[i], mapped.contains(part[i])) << i;
  }
}

// With the layers that the first builds began: each of twice the capacity of the one before.
TEST_F(MappedFilterTest, AGrowingFiltersKeysAreFoundInWhicheverLayer) {
  const auto share = [](std::uint64_t layer) {
    return 6 / std::pow(std::numbers::pi * static_cast<double>(layer + 1), 2);
  };
  SnapshotFile growing;
  std::vector<BlockedBloomFilter> layers;
  for (std::uint64_t layer = 0; layer < 3; ++layer) {
    const std::uint64_t capacity = 40'000 << layer;
    layers.push_back(save_blocked(capacity, 1e-3 * share(layer), capacity, 10 + layer));
    const auto part = SnapshotFile::read(path_);
    const std::uint64_t before = growing.header.chunks();
    for (const auto& chunk : part.chunks)
      growing.chunks.push_back({before + chunk.index, chunk.bytes});
    const auto sections = growing.header.sections;
    growing.header = part.header;
    growing.header.sections = sections;
    growing.header.sections.push_back(part.header.sections.front());
  }
  growing.header.kind = FilterKind::kGrowing;
  growing.header.capacity = 40'000;
  growing.header.target_rate = 1e-3;
  growing.write(path_);

  const MappedFilter mapped = open();
  EXPECT_EQ(mapped.kind(), FilterKind::kGrowing);
  EXPECT_TRUE(mapped.verify());
  for (std::uint64_t layer = 0; layer < 3; ++layer) {
    const auto keys = some_keys(40'000 << layer, 10 + layer);
    EXPECT_EQ(answers_of(mapped, keys), std::vector<bool>(keys.size(), true));
  }
  const auto others = some_keys(100'000, 2);
  const auto answers = answers_of(mapped, others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const bool expected = std::ranges::any_of(
        layers, [&](const BlockedBloomFilter& layer) { return layer.contains(others[i]); });
    ASSERT_EQ(answers[i], expected) << i;
    if (i < 1000) {
      ASSERT_EQ(mapped.contains(others[i]), expected) << i;
    }
  }
  const auto stats = mapped.stats();
  EXPECT_EQ(stats.layers, 3u);
  EXPECT_EQ(stats.capacity, 280'000u);
  EXPECT_EQ(stats.hashes, layers.back().stats().hashes);
  EXPECT_GT(stats.inserted, 279'000u);
  const auto found = static_cast<double>(std::ranges::count(answers, true));
  EXPECT_NEAR(found, stats.current_rate * 100'000, 4 * std::sqrt(found));
}

TEST_F(MappedFilterTest, AGrowingFilterAnswersAsTheOneThatWasSaved) {
  auto filter =
      GrowingBloomFilter::create({.capacity = 10'000, .false_positive_rate = 1e-2}).value();
  const auto present = some_keys(100'000), others = some_keys(100'000, 2);
  for (const Fingerprint key : present)
    filter.insert(key);
  ASSERT_TRUE(filter.save(path_));
  const MappedFilter mapped = open();
  EXPECT_EQ(answers_of(mapped, present), std::vector<bool>(present.size(), true));
  EXPECT_EQ(answers_of(mapped, others), answers_of(filter, others));
  EXPECT_EQ(mapped.stats().layers, 3u);
  expect_equal_stats(mapped.stats(), filter.stats());
}

TEST_F(MappedFilterTest, AGrowingFiltersImpossibleCountsAreDamage) {
  save_blocked(100, 1e-4, 50);
  SnapshotFile parts = SnapshotFile::read(path_);
  parts.header.kind = FilterKind::kGrowing;
  parts.header.sections.front().detail = 1;  // of its keys in the layer before, but there is none
  parts.write(path_);
  EXPECT_EQ(refusal().code, ErrorCode::kCorrupt);
}

TEST_F(MappedFilterTest, LayersThatAreRefusedWhenLoadedAreRefused) {
  auto filter = GrowingBloomFilter::create({.capacity = 100, .false_positive_rate = 1e-4}).value();
  for (const auto key : some_keys(500))
    filter.insert(key);
  ASSERT_TRUE(filter.save(path_));
  const SnapshotFile good = SnapshotFile::read(path_);
  ASSERT_EQ(good.header.sections.size(), 3u);
  const auto refused = [&](auto change, const std::string& words) {
    SnapshotFile bad = good;
    change(bad.header);
    bad.write(path_);
    const Error mapped = refusal();
    EXPECT_EQ(mapped.code, ErrorCode::kCorrupt);
    EXPECT_NE(mapped.message.find(words), std::string::npos) << mapped.message;
    EXPECT_EQ(GrowingBloomFilter::load(path_).error().message, mapped.message);
  };
  refused([](auto& header) { header.sections[1].capacity = 99; }, "the capacity of layer 2");
  refused([](auto& header) { header.capacity = 101; }, "the capacity of layer 1");
  refused([](auto& header) { header.sections[2].target_rate *= 10; },
          "the false-positive rate of layer 3");
  refused([](auto& header) { header.sections[1].inserted = ~std::uint64_t{0}; },
          "the number of keys of layer 2");
  refused([](auto& header) { header.sections[0].detail = 1; }, "the number of keys of layer 1");
}

TEST_F(MappedFilterTest, AClassicFilterAnswersAsTheOneThatWasSaved) {
  for (const double rate : {1e-1, 1e-3, 1e-9}) {
    SCOPED_TRACE(rate);
    auto filter =
        ClassicBloomFilter::create({.capacity = 100'000, .false_positive_rate = rate}).value();
    const auto present = some_keys(100'000), others = some_keys(50'000, 2);
    for (const Fingerprint key : present)
      filter.insert(key);
    ASSERT_TRUE(filter.save(path_));
    const MappedFilter mapped = open();
    EXPECT_EQ(mapped.kind(), FilterKind::kClassic);
    EXPECT_EQ(answers_of(mapped, present), std::vector<bool>(present.size(), true));
    const auto expected = answers_of(filter, others);
    EXPECT_EQ(answers_of(mapped, others), expected);
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(mapped.contains(others[i]), expected[i]);
    expect_equal_stats(mapped.stats(), filter.stats());
  }
  // One with most chunks left out, and one with parameters that are not a classic filter's.
  auto sparse = ClassicBloomFilter::create({.capacity = 1'000'000}).value();
  sparse.insert(nth_key(0));
  ASSERT_TRUE(sparse.save(path_));
  EXPECT_TRUE(open().contains(nth_key(0)));
  EXPECT_EQ(answers_of(open(), some_keys(1000, 2)), std::vector<bool>(1000, false));
  auto parts = SnapshotFile::read(path_);
  parts.header.sections.front().hashes = 65;
  parts.write(path_);
  EXPECT_EQ(refusal().code, ErrorCode::kCorrupt);
}

// That the file of `filter`, which holds the keys `present`, answers as `filter` does when loaded.
template <class Filter>
void expect_same_when_mapped(const Filter& filter, const std::string& path,
                             std::span<const Fingerprint> present) {
  ASSERT_TRUE(filter.save(path));
  const auto opened = MappedFilter::open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  const MappedFilter& mapped = *opened;
  const auto loaded = Filter::load(path);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(mapped.kind(), Filter::kKind);
  EXPECT_EQ(mapped.hash().key(), filter.hash().key());
  EXPECT_TRUE(mapped.verify());
  EXPECT_EQ(answers_of(mapped, present), std::vector<bool>(present.size(), true));
  const auto others = some_keys(50'000, 2);
  const auto expected = answers_of(*loaded, others);
  EXPECT_EQ(answers_of(mapped, others), expected);
  for (std::size_t i = 0; i < others.size(); ++i)
    ASSERT_EQ(mapped.contains(others[i]), expected[i]) << i;
  for (const std::size_t size : {0u, 1u, 3u, 4u, 5u, 15u, 16u, 17u, 33u}) {
    const auto part = std::span(others).first(size);
    EXPECT_EQ(answers_of(mapped, part), answers_of(*loaded, part)) << size;
  }
  expect_equal_stats(mapped.stats(), loaded->stats());
}

TEST_F(MappedFilterTest, ACountingFilterAnswersAsTheOneThatWasSaved) {
  for (const double rate : {1e-1, 1e-3, 1e-9}) {
    SCOPED_TRACE(rate);
    auto filter =
        CountingBloomFilter::create({.capacity = 50'000, .false_positive_rate = rate}).value();
    const auto present = some_keys(50'000);
    for (const Fingerprint key : present)
      filter.insert(key);
    expect_same_when_mapped(filter, path_, present);
  }
  auto sparse = CountingBloomFilter::create({.capacity = 1'000'000}).value();
  const auto few = some_keys(3);
  for (const Fingerprint key : few)
    sparse.insert(key);
  expect_same_when_mapped(sparse, path_, few);
  const SnapshotFile parts = SnapshotFile::read(path_);
  EXPECT_LT(parts.chunks.size(), parts.header.chunks());
}

TEST_F(MappedFilterTest, ACuckooFilterAnswersAsTheOneThatWasSaved) {
  std::set<unsigned> widths;
  for (const double rate : {3e-2, 1e-2, 2e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 2e-9}) {
    SCOPED_TRACE(rate);
    auto filter = CuckooFilter::create({.capacity = 100'000, .false_positive_rate = rate}).value();
    const auto present = some_keys(100'000);
    for (const Fingerprint key : present)
      ASSERT_TRUE(filter.insert(key));
    expect_same_when_mapped(filter, path_, present);
    widths.insert(SnapshotFile::read(path_).header.sections.front().detail);
  }
  // With widths that are not powers of two, buckets cross words and chunks.
  EXPECT_GT(std::ranges::count_if(widths, [](unsigned w) { return !std::has_single_bit(w); }), 4);
  EXPECT_GT(*widths.rbegin(), 24u);
}

TEST_F(MappedFilterTest, ACuckooFiltersChunksThatAreLeftOutHoldNoKey) {
  for (const double rate : {1e-2, 1e-4, 1e-6, 2e-9}) {
    SCOPED_TRACE(rate);
    auto filter =
        CuckooFilter::create({.capacity = 1'000'000, .false_positive_rate = rate}).value();
    const auto few = some_keys(5);
    for (const Fingerprint key : few)
      ASSERT_TRUE(filter.insert(key));
    expect_same_when_mapped(filter, path_, few);
    const SnapshotFile parts = SnapshotFile::read(path_);
    EXPECT_LT(parts.chunks.size(), parts.header.chunks());
  }
}

TEST_F(MappedFilterTest, ACuckooBucketMayLieInTwoChunksOfWhichOneIsLeftOut) {
  auto filter = CuckooFilter::create({.capacity = 200'000, .false_positive_rate = 1e-6}).value();
  const auto present = some_keys(200'000);
  for (const Fingerprint key : present)
    ASSERT_TRUE(filter.insert(key));
  ASSERT_TRUE(filter.save(path_));
  SnapshotFile parts = SnapshotFile::read(path_);
  ASSERT_EQ(parts.header.sections.front().detail, 23u);
  for (std::size_t n = parts.chunks.size(); n-- > 0;) {
    if (n % 2 == 1) parts.chunks.erase(parts.chunks.begin() + static_cast<std::ptrdiff_t>(n));
  }
  parts.write(path_);
  const auto loaded = CuckooFilter::load(path_).value();
  EXPECT_EQ(answers_of(open(), present), answers_of(loaded, present));
  EXPECT_NEAR(open().stats().fill, loaded.stats().fill, 0.02);
}

TEST_F(MappedFilterTest, ACuckooFilterHasTheKeysThatItsHeaderCounts) {
  auto filter = CuckooFilter::create({.capacity = 1000}).value();
  for (const Fingerprint key : some_keys(500))
    ASSERT_TRUE(filter.insert(key));
  ASSERT_TRUE(filter.save(path_));
  SnapshotFile parts = SnapshotFile::read(path_);
  parts.header.sections.front().inserted = 400;
  parts.write(path_);
  EXPECT_EQ(open().stats().inserted, 400u);
  EXPECT_EQ(CuckooFilter::load(path_).value().stats().inserted, 500u);
  parts.header.sections.front().inserted = ~std::uint64_t{0};  // in no more slots than there are
  parts.write(path_);
  EXPECT_LT(open().stats().inserted, 2000u);
  EXPECT_LT(open().stats().current_rate, 1e-2);
}

TEST_F(MappedFilterTest, CountersAndTagsThatAreRefusedWhenLoadedAreRefused) {
  const auto refused = [&](const auto& filter, auto change) {
    using Filter = std::remove_cvref_t<decltype(filter)>;
    ASSERT_TRUE(filter.save(path_));
    SnapshotFile bad = SnapshotFile::read(path_);
    change(bad.header);
    bad.write(path_);
    const Error mapped = refusal();
    EXPECT_EQ(mapped.code, ErrorCode::kCorrupt);
    const auto loaded = Filter::load(path_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, mapped.code);
    EXPECT_EQ(loaded.error().message, mapped.message);
  };
  const auto counting = CountingBloomFilter::create({.capacity = 1000}).value();
  refused(counting, [](auto& header) { header.sections[0].hashes = 0; });
  refused(counting, [](auto& header) { header.sections[0].hashes = 65; });
  refused(counting, [](auto& header) { header.sections[0].detail = 8; });
  refused(counting, [](auto& header) { header.sections.push_back(header.sections[0]); });
  const auto cuckoo = CuckooFilter::create({.capacity = 1000}).value();
  refused(cuckoo, [](auto& header) { header.sections[0].hashes = 3; });
  refused(cuckoo, [](auto& header) { header.sections[0].detail = 0; });
  refused(cuckoo, [](auto& header) { header.sections[0].detail = 7; });
  refused(cuckoo, [](auto& header) { header.sections[0].detail = 33; });
  refused(cuckoo, [](auto& header) { ++header.sections[0].words; });
  refused(cuckoo, [](auto& header) { header.sections[0].capacity = 1'000'000; });
  refused(cuckoo, [](auto& header) { header.sections.push_back(header.sections[0]); });
}

TEST_F(MappedFilterTest, VerifyNamesTheDamagedChunk) {
  save_blocked(200'000, 1e-4, 50'000);
  test::flip_byte(path_, 4096 + 3 * 65536 + 17, 1);
  const auto verified = open().verify();
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(verified.error().message.find("chunk 3"), std::string::npos)
      << verified.error().message;
}

TEST_F(MappedFilterTest, DamageOutsideTheChunksIsRefusedOnOpening) {
  save_blocked(100, 1e-4, 50);
  const std::string whole = *read_file(path_, 64u << 20);
  for (std::size_t at = 0; at < whole.size(); at += at == 4095 ? 65537 : 1) {
    test::flip_byte(path_, at, 4);
    ASSERT_EQ(refusal().code, ErrorCode::kCorrupt) << at;
    test::flip_byte(path_, at, 4);
  }
  EXPECT_TRUE(MappedFilter::open(path_));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, whole.size() - 1}) {
    test::write_contents(path_, whole.substr(0, size));
    ASSERT_EQ(refusal().code, ErrorCode::kCorrupt) << size;
  }
}

TEST_F(MappedFilterTest, AFileReplacedWhileItIsMappedGoesOnAnswering) {
  save_blocked(10'000, 1e-6, 1000);
  const MappedFilter mapped = open();
  save_blocked(20'000, 1e-6, 1000, 2);
  EXPECT_TRUE(mapped.contains(nth_key(0)));
  EXPECT_FALSE(mapped.contains(nth_key(0, 2)));
  EXPECT_TRUE(mapped.verify());
  EXPECT_EQ(mapped.stats().capacity, 10'000u);
}

TEST_F(MappedFilterTest, ImpossibleParametersAreDamage) {
  save_blocked(100, 1e-4, 0);
  const SnapshotFile good = SnapshotFile::read(path_);
  const auto expect_refusal = [&](FilterKind kind, const SnapshotSection& section) {
    SnapshotFile bad = good;
    bad.header.kind = kind;
    bad.header.sections.back() = section;
    bad.write(path_);
    EXPECT_EQ(refusal().code, ErrorCode::kCorrupt);
  };
  for (const FilterKind kind : {FilterKind::kBlocked, FilterKind::kGrowing}) {
    SnapshotSection section = good.header.sections.front();
    section.hashes = 0;
    expect_refusal(kind, section);
    section.hashes = 41;
    expect_refusal(kind, section);
    section.hashes = 8;
    section.words = 12;
    expect_refusal(kind, section);
  }
  SnapshotFile two = good;
  two.header.sections.push_back(two.header.sections.front());
  two.write(path_);
  EXPECT_EQ(refusal().code, ErrorCode::kCorrupt);
}

TEST_F(MappedFilterTest, ClaimsOfHugeSizesTakeNoMemory) {
  save_blocked(100, 1e-4, 50);
  SnapshotFile parts = SnapshotFile::read(path_);
  SnapshotSection& section = parts.header.sections.front();
  section.words = std::uint64_t{1} << 40;  // 8 TiB: a table of a GiB, all but one page untouched
  section.inserted = ~std::uint64_t{0};
  parts.write(path_);
  const MappedFilter mapped = open();
  EXPECT_EQ(answers_of(mapped, some_keys(100)), std::vector<bool>(100, false));
  EXPECT_TRUE(mapped.verify());
  EXPECT_EQ(mapped.stats().memory_bytes, std::uint64_t{8} << 40);
  EXPECT_LE(mapped.stats().current_rate, 1);

  section.words = std::uint64_t{1} << 56;
  parts.write(path_);
  EXPECT_EQ(refusal().code, ErrorCode::kNoSpace);

  section.words = 8;
  parts.write(path_);
  EXPECT_LT(open().stats().current_rate, 1e-3);  // what a query would see, whatever is claimed
}

TEST_F(MappedFilterTest, MissingFilesAndFoldersAreErrors) {
  EXPECT_EQ(refusal().code, ErrorCode::kNotFound);
  const auto folder = MappedFilter::open(directory_.path().string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kIo) << folder.error().message;
}

TEST_F(MappedFilterTest, ManyThreadsMayAskAndAMovedFilterAnswers) {
  save_blocked(20'000, 1e-6, 20'000);
  MappedFilter first = open();
  MappedFilter mapped = std::move(first);
  const auto keys = some_keys(20'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(answers_of(mapped, keys), std::vector<bool>(keys.size(), true));
      EXPECT_TRUE(mapped.verify());
      EXPECT_GT(mapped.stats().fill, 0.1);
    });
  }
  for (auto& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace trawl
