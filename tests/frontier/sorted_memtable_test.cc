// SortedMemtable against a sorted set, in a database, and with readers during the writes.
#include "frontier/store/sorted_memtable.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>

#include "base/big_endian.h"
#include "base/coding.h"
#include "frontier/store/queue_run.h"
#include "tests/support/temporary_directory.h"

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
  // A run, as RocksDB inserts it: the value of an empty key with the number `number`.
  void insert_run(const QueueRun& run, std::uint64_t first, std::uint64_t number,
                  std::uint32_t urls) {
    std::string entry(1, 8);
    put_fixed(entry, number);
    put_string(entry,
               RunReader::header(first, urls) + std::string(run.bytes(0, run.parts().back().end)));
    table_->Insert(entries_.emplace_back(std::move(entry)).data());
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

std::string key_in_run(HostId host, const QueueOrder& order, std::uint64_t number) {
  std::string key = pending_key(host, order);
  put_fixed(key, number);
  return key;
}

// Each URL of a run is an entry: with the next sequence, and the number of the run.
TEST_F(SortedMemtableTest, RunsAreSortedAmongTheOthers) {
  std::mt19937_64 random(5);
  std::map<std::string, std::string> all;  // the records
  std::uint64_t sequence = 0;
  for (std::uint64_t number = 1; number <= 200; ++number) {
    QueueRun run;
    const std::uint64_t first = sequence;
    for (std::size_t n = 1 + random() % 50; n > 0; --n) {
      const QueueOrder order{.priority = static_cast<std::int32_t>(random() % 3) - 1,
                             .sequence = sequence++};
      const HostId host = random() % 20 << 59;
      const std::string record(random() % 300, static_cast<char>('a' + number % 26));
      run.add(0, 0, {}, host, order.priority, 0, record);
      all.emplace(key_in_run(host, order, number), record);
    }
    insert_run(run, first, number, static_cast<std::uint32_t>(run.urls()));
    const std::string alone = key_in_run(random() % 20 << 59, {.sequence = sequence++}, number);
    all.emplace(alone, "");
    insert(alone);
    if (number == 150) table_->MarkReadOnly();  // before the last were put in order
    if (number % 7 != 0 && number != 150) continue;
    const auto it = iterator();
    auto expected = all.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      ASSERT_EQ(at(*it), expected->first);
      if (expected->second.empty()) continue;
      const std::string_view rest(it->key() + 1 + expected->first.size(), 400);
      ASSERT_EQ(Decoder(rest).string(), expected->second);
    }
    ASSERT_EQ(expected, all.end());
    if (number == 150) break;
  }
  EXPECT_GE(table_->ApproximateMemoryUsage(), all.size() * 16);
}

// As an entry that no reader can decode, so that its loss is not silent.
TEST_F(SortedMemtableTest, E1_ARunThatIsNotValidIsSeenAsAWhole) {
  QueueRun run;
  run.add(0, 0, {}, 1, 0, 0, "record");
  insert_run(run, 0, 0, 2);
  insert(key_in_run(0, {}, 1));
  const auto it = iterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(at(*it).size(), 8u);
  it->Next();
  EXPECT_EQ(at(*it), key_in_run(0, {}, 1));
}

// What was there when an iterator was placed is seen by it, in order, whatever comes in meanwhile.
TEST_F(SortedMemtableTest, ReadersSeeAllThatWasThereInOrder) {
  constexpr std::uint64_t kThere = 2000;
  for (std::uint64_t i = 0; i < kThere; ++i)
    insert(key_of(i << 40, 0));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> inserted{kThere};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const auto it = iterator();
        std::string before;
        std::uint64_t seen = 0, all = 0;
        // acquire: pairs with the release below, as RocksDB's number of the last write does.
        const std::uint64_t at_least = inserted.load(std::memory_order_acquire);
        for (it->SeekToFirst(); it->Valid(); it->Next()) {
          const std::string key = at(*it);
          ASSERT_LT(before, key);
          seen += load_big_endian<std::uint64_t>(key.substr(8)) == 0 ? 1 : 0;
          before = key;
          ++all;
        }
        ASSERT_EQ(seen, kThere);
        ASSERT_GE(all, at_least);
      }
    });
  }
  std::mt19937_64 random(1);
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    const std::uint64_t host = random() % (kThere << 40);
    if (i % 2 == 0) {
      insert(key_of(host, i));
    } else {
      QueueRun run;
      for (int n = 0; n < 3; ++n)
        run.add(0, 0, {}, host, 1, 0, "record");
      insert_run(run, 3 * i, i, 3);
    }
    inserted.fetch_add(i % 2 == 0 ? 1 : 3, std::memory_order_release);
  }
  stop = true;
  for (auto& reader : readers)
    reader.join();
}

// A full memtable is read without its lock, but not before the last entries are in order, which
// another reader may be doing.
TEST_F(SortedMemtableTest, AReaderGoesOnWhileTheLastEntriesOfAFullOneArePutInOrder) {
  constexpr std::uint64_t kEach = 400;
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    entries_.clear();
    table_.reset(sorted_memtables()->CreateMemTableRep(comparator_, nullptr, nullptr, nullptr));
    for (std::uint64_t i = 0; i < kEach; ++i)
      insert(key_of(random(), 0));
    const auto it = iterator();
    it->SeekToFirst();
    for (std::uint64_t i = 0; i < kEach; ++i)
      insert(key_of(random(), 1));
    table_->MarkReadOnly();
    std::thread other([&] {
      const auto all = iterator();
      std::uint64_t n = 0;
      for (all->SeekToFirst(); all->Valid(); all->Next())
        ++n;
      EXPECT_EQ(n, 2 * kEach);
    });
    std::uint64_t seen = 0;
    for (std::string before; it->Valid(); it->Next()) {
      const std::string key = at(*it);
      ASSERT_LT(before, key);
      seen += load_big_endian<std::uint64_t>(key.substr(8)) == 0 ? 1 : 0;
      before = key;
    }
    EXPECT_EQ(seen, kEach);
    other.join();
  }
}

class SmallestByte final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value,
             std::string* out, rocksdb::Logger*) const override {
    *out = existing != nullptr && existing->compare(value) < 0 ? existing->ToString()
                                                               : value.ToString();
    return true;
  }
  const char* Name() const override { return "SmallestByte"; }
};

TEST(SortedMemtable, IsReadKeyByKeyWhileItIsWritten) {
  const test::TemporaryDirectory directory;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.memtable_factory = sorted_memtables();
  options.merge_operator = std::make_shared<SmallestByte>();
  options.allow_concurrent_memtable_write = false;
  options.flush_verify_memtable_count = false;
  options.write_buffer_size = 64u << 10;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, directory.path().string(), &opened).ok());
  const std::unique_ptr<rocksdb::DB> database(opened);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kKeys = 500;
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    std::string value;
    for (std::uint64_t i = 0; !ends; ++i) {
      const auto status = database->Get({}, key_of(i % kKeys, 0), &value);
      EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    }
  });
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = key_of(random() % kKeys, 0);
    const std::string value(1, static_cast<char>('a' + random() % 26));
    if (random() % 4 == 0) {
      ASSERT_TRUE(database->Delete({}, key).ok());
      expected.erase(key);
    } else {
      ASSERT_TRUE(database->Merge({}, key, value).ok());
      const auto [place, is_new] = expected.emplace(key, value);
      if (!is_new) place->second = std::min(place->second, value);
    }
    const std::string asked = key_of(random() % kKeys, 0);
    std::string got;
    const auto status = database->Get({}, asked, &got);
    const auto known = expected.find(asked);
    ASSERT_EQ(status.ok(), known != expected.end()) << status.ToString();
    if (status.ok()) {
      ASSERT_EQ(got, known->second);
    }
  }
  ends = true;
  reader.join();
}

}  // namespace
}  // namespace trawl
