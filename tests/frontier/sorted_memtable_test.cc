// The memtable of the host queues against a sorted set, and with readers during the writes.
#include "frontier/store/sorted_memtable.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/big_endian.h"

namespace trawl {
namespace {

// Entries here: a byte with the size of the key, and the key. Keys end with 8 bytes, which RocksDB
// uses for its own numbers.
class Comparator final : public rocksdb::MemTableRep::KeyComparator {
 public:
  rocksdb::Slice decode_key(const char* entry) const override {
    return {entry + 1, static_cast<unsigned char>(*entry)};
  }
  int operator()(const char* a, const char* b) const override {
    return decode_key(a).compare(decode_key(b));
  }
  int operator()(const char* a, const rocksdb::Slice& b) const override {
    return decode_key(a).compare(b);
  }
};

std::string key_of(std::uint64_t host, std::uint64_t sequence) {
  std::string key(24, '\0');
  store_big_endian(store_big_endian(key.data(), host), sequence);
  return key;
}

class SortedMemtableTest : public ::testing::Test {
 protected:
  using Iterator = rocksdb::MemTableRep::Iterator;

  void insert(const std::string& key) {
    entries_.push_back(static_cast<char>(key.size()) + key);
    table_->Insert(entries_.back().data());
  }
  std::unique_ptr<Iterator> iterator() const {
    return std::unique_ptr<Iterator>(table_->GetIterator());
  }
  std::string at(const Iterator& it) const {
    return it.Valid() ? comparator_.decode_key(it.key()).ToString() : std::string();
  }

  Comparator comparator_;
  std::deque<std::string> entries_;
  std::unique_ptr<rocksdb::MemTableRep> table_{
      sorted_memtables()->CreateMemTableRep(comparator_, nullptr, nullptr, nullptr)};
};

TEST_F(SortedMemtableTest, IsSortedWhateverTheOrderOfInsertions) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t hosts : {std::uint64_t{1}, std::uint64_t{20}, std::uint64_t{1} << 60}) {
    table_.reset(sorted_memtables()->CreateMemTableRep(comparator_, nullptr, nullptr, nullptr));
    std::set<std::string> all;
    const auto it = iterator();
    EXPECT_FALSE((it->SeekToFirst(), it->Valid()));
    EXPECT_FALSE((it->SeekToLast(), it->Valid()));
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const bool ascends = random() % 2 == 0;
      const std::string key = key_of(random() % hosts, ascends ? i : random());
      if (all.insert(key).second) insert(key);
      if (i % 7 != 0) continue;
      const std::string target = key_of(random() % hosts, random());
      it->Seek(target, nullptr);
      const auto expected = all.lower_bound(target);
      ASSERT_EQ(at(*it), expected == all.end() ? "" : *expected);
      it->SeekForPrev(target, nullptr);
      const auto behind = all.upper_bound(target);
      ASSERT_EQ(at(*it), behind == all.begin() ? "" : *std::prev(behind));
      ASSERT_TRUE(table_->Contains(entries_.back().data()));
    }
    if (hosts == 1) table_->MarkReadOnly();
    auto expected = all.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next())
      ASSERT_EQ(at(*it), *expected++);
    ASSERT_EQ(expected, all.end());
    for (it->SeekToLast(); it->Valid(); it->Prev())
      ASSERT_EQ(at(*it), *--expected);
    ASSERT_EQ(expected, all.begin());
    EXPECT_GE(table_->ApproximateMemoryUsage(), all.size() * 16);
  }
}

// What was there when an iterator was placed is seen by it, in order, whatever comes in meanwhile.
TEST_F(SortedMemtableTest, ReadersSeeAllThatWasThereInOrder) {
  constexpr std::uint64_t kThere = 2000;
  for (std::uint64_t i = 0; i < kThere; ++i)
    insert(key_of(i << 40, 0));
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const auto it = iterator();
        std::string before;
        std::uint64_t seen = 0;
        for (it->SeekToFirst(); it->Valid(); it->Next()) {
          const std::string key = at(*it);
          ASSERT_LT(before, key);
          seen += load_big_endian<std::uint64_t>(key.substr(8)) == 0 ? 1 : 0;
          before = key;
        }
        ASSERT_EQ(seen, kThere);
      }
    });
  }
  std::mt19937_64 random(1);
  for (std::uint64_t i = 1; i <= 20'000; ++i)
    insert(key_of(random() % (kThere << 40), i));
  stop = true;
  for (auto& reader : readers)
    reader.join();
}

}  // namespace
}  // namespace trawl
