// Runs of new URLs in files next to the store's log: what is left after a kill, after a power loss,
// and after damage; and that the files do not become many.
#include "frontier/store/run_files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_io.h"
#include "frontier/store/queue_run.h"
#include "frontier/store/rocks_store.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& directory, const std::string& ending = ".run") {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ending) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::uint64_t bytes_of(const std::vector<fs::path>& files) {
  std::uint64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code gone;  // a flush may have ended
    if (const auto size = fs::file_size(file, gone); !gone) bytes += size;
  }
  return bytes;
}

RunBytes run_of(const std::string& bytes) {
  RunBytes run;
  run.bytes = bytes;
  return run;
}

class RunFilesTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
};

TEST_F(RunFilesTest, WhatIsWrittenIsReadAndDamageIsFound) {
  RunFiles files(directory_.path());
  RunBytes one = run_of(std::string(1000, 'a'));
  RunBytes two = run_of(std::string(500, 'b'));
  ASSERT_TRUE(files.write(one) && files.write(two));
  const auto read = [&](const RunPlace& place) {
    auto run = RunFiles::read(directory_.path(), place);
    EXPECT_TRUE(run);
    return run.value_or(std::nullopt);
  };
  ASSERT_TRUE(read(*one.place) && read(*two.place));
  EXPECT_EQ(read(*one.place)->bytes, one.bytes);
  EXPECT_EQ(read(*two.place)->bytes, two.bytes);
  RunPlace wrong = *two.place;
  ++wrong.offset;
  EXPECT_FALSE(read(wrong)) << "beyond the end";
  wrong = *one.place;
  ++wrong.checksum;
  EXPECT_FALSE(read(wrong));
  wrong = *one.place;
  wrong.file += 7;
  EXPECT_FALSE(read(wrong)) << "no such file";
}

TEST_F(RunFilesTest, AFileIsThereAsLongAsARunInIt) {
  RunFiles files(directory_.path(), 1000);
  auto one = std::make_unique<RunBytes>(run_of(std::string(600, 'a')));
  auto two = std::make_unique<RunBytes>(run_of(std::string(600, 'b')));
  auto three = std::make_unique<RunBytes>(run_of("c"));
  ASSERT_TRUE(files.write(*one) && files.write(*two) && files.write(*three));
  EXPECT_EQ(one->place->file, two->place->file);
  EXPECT_NE(one->place->file, three->place->file) << "the first one is full";
  EXPECT_EQ(files_in(directory_.path()).size(), 2u);
  one.reset();
  EXPECT_EQ(files_in(directory_.path()).size(), 2u);
  two.reset();
  EXPECT_EQ(files_in(directory_.path()).size(), 1u);
  three.reset();
  EXPECT_EQ(files_in(directory_.path()).size(), 1u) << "it is being filled";
}

TEST_F(RunFilesTest, FilesStayWhenTheStoreIsClosedAndGoWhenItIsOpenedAgain) {
  RunBytes run = run_of("run");
  {
    RunFiles files(directory_.path());
    ASSERT_TRUE(files.write(run));
  }
  run = {};
  EXPECT_EQ(files_in(directory_.path()).size(), 1u);
  std::ofstream(directory_ / "x1.run") << "of somebody else";
  RunFiles files(directory_.path());
  ASSERT_TRUE(files.begin());
  EXPECT_EQ(files_in(directory_.path()).size(), 1u);
  EXPECT_TRUE(fs::exists(directory_ / "x1.run"));
  ASSERT_TRUE(files.write(run));
  EXPECT_EQ(run.place->file, 2u) << "numbers are not used again";
}

// The process may open no further file meanwhile.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);  // the lowest that is free
    const rlimit now{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    ::close(next);
    if (::setrlimit(RLIMIT_NOFILE, &now) != 0) ADD_FAILURE() << "cannot limit the open files";
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(RunFilesTest, ARunHasNoPlaceIfNoFileCanBeCreated) {
  RunFiles files(directory_.path());
  RunBytes one = run_of(std::string(1000, 'a'));
  {
    const NoMoreFiles limit;
    ASSERT_TRUE(files.write(one));
  }
  EXPECT_FALSE(one.place);
  EXPECT_TRUE(files.sync());
  ASSERT_TRUE(files.write(one));
  EXPECT_TRUE(one.place);
}

TEST_F(RunFilesTest, ASyncThatFailedFailsAlways) {
  test::FileFaults faults(directory_.path());
  RunFiles files(directory_.path());
  RunBytes run = run_of("run");
  ASSERT_TRUE(files.write(run));
  EXPECT_TRUE(files.sync());
  ASSERT_TRUE(files.write(run));
  faults.fail_once(1, EIO);
  EXPECT_FALSE(files.sync());
  EXPECT_TRUE(faults.heal());
  EXPECT_FALSE(files.sync()) << "what became of the bytes is not known";
}

// One batch after the other: batch n has a run of 20 URLs, an admission, a host and a counter. All
// states that a store may have are those after one of them.
class StoreWithRunFiles : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kUrls = 20;
  static constexpr std::uint64_t kMemory = 64u << 20;

  fs::path path() const { return directory_.path() / "store"; }
  Result<std::unique_ptr<Store>> try_open() const {
    return RocksStore::open(
        path(), {.sync = sync_, .memory = MemoryPlan::of(kMemory), .least_run_in_file = 1});
  }
  std::unique_ptr<Store> open() const {
    auto store = try_open();
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }
  static std::string record(std::uint64_t n, std::size_t bytes) {
    std::string record = fmt::format("{} ", n);
    record.resize(std::max(bytes, record.size()), static_cast<char>('a' + n % 26));
    return record;
  }
  // The run of batch n; its URLs are n * kUrls and those that follow.
  static std::shared_ptr<QueueRun> run_of_batch(std::uint64_t n, std::size_t bytes = 0) {
    auto run = std::make_shared<QueueRun>();
    for (std::uint64_t i = 0; i < kUrls; ++i)
      run->add(0, 0, {}, (n + i) % 7, 0, 0, record(n * kUrls + i, bytes));
    run->parts().front().sequence = n * kUrls;
    return run;
  }
  static Result<void> write(Store& store, std::uint64_t n, std::size_t bytes = 0,
                            bool in_file = true) {
    const auto run = run_of_batch(n, bytes);
    if (in_file) {
      if (auto ahead = store.write_ahead(*run); !ahead) return ahead;
      EXPECT_TRUE(run->shared()->place);
    }
    return commit(store, run, n);
  }
  static Result<void> commit(Store& store, const std::shared_ptr<QueueRun>& run, std::uint64_t n) {
    Store::Batch batch;
    batch.add_run(run, run->parts());
    if (run->shared()->place) {
      EXPECT_LT(batch.bytes(), 100u);
    }
    const Fingerprint admitted{.high = n, .low = n};
    batch.log_admissions(n, std::span(&admitted, 1));
    batch.set_host(n % 5, {.name = fmt::format("{}", n)});
    Counters counters;
    counters.admitted = n + 1;
    batch.set_counters(counters);
    return store.write(batch);
  }
  // How many batches are there; all of the store is as after the last of them.
  static std::uint64_t batches_in(const Store& store, std::size_t bytes = 0) {
    const std::uint64_t n = store.counters()->admitted;
    std::map<std::uint64_t, HostId> urls;
    EXPECT_TRUE(store.visit_pending(
        std::nullopt, [&](HostId host, const QueueOrder& order, std::string_view found) {
          EXPECT_TRUE(urls.emplace(order.sequence, host).second);
          EXPECT_EQ(found, record(order.sequence, bytes));
          return true;
        }));
    EXPECT_EQ(urls.size(), n * kUrls);
    for (const auto& [sequence, host] : urls) {
      EXPECT_LT(sequence, n * kUrls);
      EXPECT_EQ(host, (sequence / kUrls + sequence % kUrls) % 7);
    }
    std::uint64_t admissions = 0;
    EXPECT_TRUE(store.replay_admissions(
        0, [&](std::uint64_t first, std::span<const Fingerprint> fingerprints) {
          EXPECT_EQ(first, admissions);
          admissions += fingerprints.size();
        }));
    EXPECT_EQ(admissions, n);
    for (std::uint64_t host = 0; host < std::min<std::uint64_t>(n, 5); ++host) {
      const std::uint64_t last = n - 1 - (n - 1 + 5 - host) % 5;
      EXPECT_EQ(store.host(host)->value_or(HostRecord{}).name, fmt::format("{}", last));
    }
    return n;
  }
  std::uint64_t batches_there(std::size_t bytes = 0) const { return batches_in(*open(), bytes); }

  test::TemporaryDirectory directory_;
  bool sync_ = false;
};

TEST_F(StoreWithRunFiles, N1_RunsAreThereAfterReopeningAndTheirFilesAreNot) {
  {
    const auto store = open();
    for (std::uint64_t n = 0; n < 50; ++n)
      ASSERT_TRUE(write(*store, n, 0, n % 3 != 0));
    EXPECT_EQ(batches_in(*store), 50u);
  }
  EXPECT_EQ(files_in(path()).size(), 1u) << "the log refers to it";
  {
    const auto read = RocksStore::open_to_read(path(), {.memory = MemoryPlan::of(kMemory)});
    ASSERT_TRUE(read);
    EXPECT_EQ(batches_in(**read), 50u);
  }
  EXPECT_EQ(files_in(path()).size(), 1u) << "reading changes nothing";
  EXPECT_EQ(batches_there(), 50u);
  EXPECT_TRUE(files_in(path()).empty());
  EXPECT_EQ(batches_there(), 50u);
}

TEST_F(StoreWithRunFiles, WithTooManyOpenFilesRunsAreInTheLog) {
  {
    const auto store = open();
    {
      const NoMoreFiles limit;
      for (std::uint64_t n = 0; n < 5; ++n) {
        const auto run = run_of_batch(n);
        ASSERT_TRUE(store->write_ahead(*run));
        EXPECT_FALSE(run->shared()->place);
        ASSERT_TRUE(commit(*store, run, n));
      }
    }
    EXPECT_TRUE(files_in(path()).empty());
    ASSERT_TRUE(write(*store, 5));
    EXPECT_EQ(files_in(path()).size(), 1u);
    EXPECT_EQ(batches_in(*store), 6u);
  }
  EXPECT_EQ(batches_there(), 6u);
}

// Written, and the process was killed before the log was.
TEST_F(StoreWithRunFiles, RunsToWhichNothingRefersAreRemoved) {
  {
    const auto store = open();
    ASSERT_TRUE(write(*store, 0));
    const auto run = run_of_batch(1);
    ASSERT_TRUE(store->write_ahead(*run));
  }
  EXPECT_EQ(bytes_of(files_in(path())),
            run_of_batch(0)->shared()->bytes.size() + run_of_batch(1)->shared()->bytes.size());
  EXPECT_EQ(batches_there(), 1u);
  EXPECT_TRUE(files_in(path()).empty());
}

// Only what is not in tables yet: here none is.
TEST_F(StoreWithRunFiles, WithADamagedRunTheStoreHasTheStateBeforeIt) {
  constexpr std::uint64_t kBatches = 12;
  std::vector<std::uint64_t> ends;
  {
    const auto store = open();
    for (std::uint64_t n = 0; n < kBatches; ++n) {
      ASSERT_TRUE(write(*store, n));
      ends.push_back(bytes_of(files_in(path())));
    }
  }
  const fs::path kept = directory_ / "kept";
  fs::copy(path(), kept, fs::copy_options::recursive);
  const auto restore = [&] {
    fs::remove_all(path());
    fs::copy(kept, path(), fs::copy_options::recursive);
    return files_in(path()).front();
  };
  const auto expect = [&](std::uint64_t batches) {
    {
      const auto read = RocksStore::open_to_read(path(), {.memory = MemoryPlan::of(kMemory)});
      ASSERT_TRUE(read);
      EXPECT_EQ(batches_in(**read), batches);
    }
    {
      const auto store = open();
      EXPECT_EQ(batches_in(*store), batches);
      ASSERT_TRUE(write(*store, batches)) << "and it goes on from there";
    }
    EXPECT_EQ(batches_there(), batches + 1);
    EXPECT_EQ(batches_there(), batches + 1);
  };
  std::mt19937_64 random(3);
  for (std::uint64_t n = 0; n < kBatches; ++n) {
    SCOPED_TRACE(n);
    const std::uint64_t begin = n == 0 ? 0 : ends[n - 1];
    const std::uint64_t place = begin + random() % (ends[n] - begin);
    {
      fs::resize_file(restore(), place);
      expect(n);
    }
    {
      std::fstream file(restore(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(place));
      const char byte = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(place));
      file.put(static_cast<char>(byte ^ (1 << random() % 8)));
      file.close();
      expect(n);
    }
  }
  fs::remove(restore());
  expect(0);
  restore();
  expect(kBatches);
}

// A later log must not be replayed either.
TEST_F(StoreWithRunFiles, LaterLogsAreDroppedWithADamagedRun) {
  constexpr std::size_t kRecord = 40'000;
  std::uint64_t batches = 0;
  std::uint64_t last = 0;
  {
    const auto store = open();
    // Some memtables, so that there are logs of several.
    for (; batches < 12; ++batches)
      ASSERT_TRUE(write(*store, batches, kRecord));
    last = batches;
  }
  const auto files = files_in(path());
  ASSERT_FALSE(files.empty());
  // The last run of the last file: those before it are of memtables that may be tables.
  fs::resize_file(files.back(), fs::file_size(files.back()) - 1);
  EXPECT_EQ(batches_there(kRecord), last - 1);
}

// Reading may fail for a while: then nothing is dropped.
TEST_F(StoreWithRunFiles, ARunThatCannotBeReadMakesOpeningFailAndStays) {
  {
    const auto store = open();
    ASSERT_TRUE(write(*store, 0) && write(*store, 1));
  }
  const fs::path file = files_in(path()).front();
  fs::rename(file, directory_ / "kept");
  fs::create_directory(file);
  for (int times = 0; times < 2; ++times) {
    const auto store = try_open();
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find(file.filename().string()), std::string::npos)
        << store.error().message;
    EXPECT_NE(store.error().code, ErrorCode::kCorrupt) << store.error().message;
  }
  fs::remove(file);
  fs::rename(directory_ / "kept", file);
  EXPECT_EQ(batches_there(), 2u);
}

TEST_F(StoreWithRunFiles, M1_FilesAndMemoryAreBoundedHoweverManyRunsThereAre) {
  constexpr std::size_t kRecord = 10'000;
  constexpr std::uint64_t kBatches = 600;  // 120 MB
  const MemoryPlan plan = MemoryPlan::of(kMemory);
  {
    const auto store = open();
    std::uint64_t most = 0;
    std::uint64_t most_memory = 0;
    for (std::uint64_t n = 0; n < kBatches; ++n) {
      ASSERT_TRUE(write(*store, n, kRecord));
      most = std::max(most, bytes_of(files_in(path())));
      most_memory = std::max(most_memory, store->memory());
    }
    EXPECT_LE(most, 2 * RunFiles::kFileBytes + 2 * plan.write_buffers);
    EXPECT_GT(most, RunFiles::kFileBytes) << "none was filled";
    EXPECT_GT(most_memory, plan.write_buffers / 4) << "the memory of runs counts";
    EXPECT_LE(most_memory, 2 * plan.write_buffers + plan.block_cache);
    EXPECT_EQ(batches_in(*store, kRecord), kBatches);
  }
  EXPECT_EQ(batches_there(kRecord), kBatches);
}

TEST_F(StoreWithRunFiles, E1_AFailedWriteOfARunIsAnErrorOfTheStore) {
  for (const int error : {ENOSPC, EIO}) {
    fs::remove_all(path());
    test::FileFaults faults(directory_.path());
    {
      const auto store = open();
      ASSERT_TRUE(write(*store, 0));
      faults.fail_once(1, error, ".run");
      const auto failed = write(*store, 1);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, error == EIO ? ErrorCode::kIo : ErrorCode::kNoSpace);
      EXPECT_NE(failed.error().message.find("store"), std::string::npos) << failed.error().message;
      // It was not committed, and the next is in another file.
      ASSERT_TRUE(write(*store, 1));
      EXPECT_EQ(batches_in(*store), 2u);
    }
    EXPECT_EQ(batches_there(), 2u);
  }
}

// Killed at any moment, by another process.
TEST_F(StoreWithRunFiles, N1_N3_AfterAKillTheStoreHasTheStateAfterABatch) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::size_t kRecord = 3'000;
  std::uint64_t batches = 0;
  for (int kills = 0; kills < 5; ++kills) {
    int written[2];
    ASSERT_EQ(::pipe(written), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = open();
      for (std::uint64_t n = batches;; ++n) {
        if (!write(*store, n, kRecord, n % 4 != 0)) ::_exit(1);
        if (::write(written[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(written[1]);
    char byte = 0;
    std::uint64_t durable = 0;
    const std::uint64_t until = random() % 150;
    while (durable < until && ::read(written[0], &byte, 1) == 1)
      ++durable;
    ::kill(child, SIGKILL);
    while (::read(written[0], &byte, 1) == 1)
      ++durable;
    ::close(written[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::uint64_t there = batches_there(kRecord);
    ASSERT_GE(there, batches + durable);
    ASSERT_LE(there, batches + durable + 1);
    batches = there;
  }
}

// Whatever was written last is lost, of each file on its own: of the log, of the files with runs,
// of tables.
class StoreThatLosesPower : public StoreWithRunFiles {
 protected:
  // `record`: large ones fill memtables, whose tables need a log and runs that are synced. Of small
  // ones no table is written, so that the disk may die before the power is lost: under a thread
  // that writes tables RocksDB ends the process then.
  void lose_power_again_and_again(std::size_t record, int rounds, bool may_die) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(round);
      fs::remove_all(path());
      fs::create_directory(path());
      test::FileFaults faults(directory_.path(), test::FileFaults::Track::kPowerLoss);
      std::uint64_t batches = 0;
      for (int losses = 0; losses < 4; ++losses) {
        std::uint64_t durable = batches;
        {
          const auto store = open();
          if (may_die) faults.crash_at(1 + random() % 400, random());
          const std::uint64_t end = batches + 10 + random() % 80;
          for (std::uint64_t n = batches; n < end; ++n) {
            if (!write(*store, n, record, random() % 4 != 0)) break;
            if (sync_) durable = n + 1;
            if (random() % 10 != 0) continue;
            if (!store->sync()) break;
            durable = n + 1;
          }
        }
        faults.heal();
        faults.lose_power(random());
        const auto store = try_open();
        ASSERT_TRUE(store) << store.error().message;
        const std::uint64_t there = batches_in(**store, record);
        ASSERT_GE(there, durable);
        batches = there;
      }
    }
  }
};

TEST_F(StoreThatLosesPower, N1_WhatWasSyncedIsThereAndTheRestIsAsBefore) {
  lose_power_again_and_again(100, 4, true);
}

TEST_F(StoreThatLosesPower, N1_NoTableIsAheadOfTheRunsOfOtherChanges) {
  lose_power_again_and_again(20'000, 1, false);
}

TEST_F(StoreThatLosesPower, N1_WithSyncEachBatchIsThere) {
  sync_ = true;
  lose_power_again_and_again(100, 2, true);
}

class StoreThatLosesPowerSlow : public StoreThatLosesPower {};

TEST_F(StoreThatLosesPowerSlow, N1_WhatWasSyncedIsThereAndTheRestIsAsBefore) {
  lose_power_again_and_again(100, 60, true);
  lose_power_again_and_again(20'000, 20, false);
}

TEST_F(StoreThatLosesPowerSlow, N1_WithSyncEachBatchIsThere) {
  sync_ = true;
  lose_power_again_and_again(100, 60, true);
}

}  // namespace
}  // namespace trawl
