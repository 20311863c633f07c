#include "crawler/crash/in_flight_file.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file_io.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class InFlight : public ::testing::Test {
 protected:
  std::unique_ptr<InFlightFile> create(std::uint32_t slots) {
    auto file = InFlightFile::create(path_, slots);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }
  InFlightRecord read() {
    const auto record = InFlightFile::read(path_);
    EXPECT_TRUE(record) << record.error().message;
    return record && *record ? **record : InFlightRecord();
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const InFlightUrl& url : read().urls)
      texts.push_back(url.text);
    return texts;
  }
  // Writes over what is at `offset`.
  void overwrite(std::size_t offset, std::string_view bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  test::TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "in-flight";
};

TEST_F(InFlight, HoldsWhatWasBegunAndNotEnded) {
  const auto file = create(4);
  const auto a = file->begin("http://a/");
  const auto b = file->begin("http://b/");
  EXPECT_THAT(texts(), UnorderedElementsAre("http://a/", "http://b/"));
  file->end(a);
  EXPECT_THAT(texts(), ElementsAre("http://b/"));
  file->end(b);
  EXPECT_THAT(texts(), IsEmpty());
  EXPECT_EQ(read().signal, 0);
}

TEST_F(InFlight, OutlivesItsProcess) {
  create(4)->begin("http://a/");
  EXPECT_THAT(texts(), ElementsAre("http://a/"));
}

TEST_F(InFlight, ThereIsNone) {
  const auto record = InFlightFile::read(path_);
  ASSERT_TRUE(record);
  EXPECT_FALSE(*record);
}

TEST_F(InFlight, LongUrlsAreCutAndToldApart) {
  const auto file = create(4);
  const std::string begin(InFlightUrl::kMaxText, 'x');
  file->begin(begin + "1");
  file->begin(begin + "2");
  const auto urls = read().urls;
  ASSERT_EQ(urls.size(), 2u);
  EXPECT_EQ(urls[0].text, begin);
  EXPECT_EQ(urls[1].text, begin);
  EXPECT_NE(urls[0], urls[1]);
  EXPECT_TRUE(urls[0] == InFlightUrl::of(begin + "1") || urls[1] == InFlightUrl::of(begin + "1"));
}

TEST_F(InFlight, MoreThanItHasSlotsForAreCounted) {
  const auto file = create(2);
  file->begin("http://a/");
  file->begin("http://b/");
  const auto c = file->begin("http://c/");
  EXPECT_EQ(c, InFlightFile::kUnlisted);
  EXPECT_EQ(read().unlisted, 1u);
  file->end(c);
  EXPECT_EQ(read().unlisted, 0u);
  EXPECT_EQ(read().urls.size(), 2u);
}

TEST_F(InFlight, ClearsAtTheEnd) {
  const auto file = create(2);
  for (const char* url : {"http://a/", "http://b/", "http://c/"})
    file->begin(url);
  file->clear();
  EXPECT_THAT(texts(), IsEmpty());
  EXPECT_EQ(read().unlisted, 0u);
}

TEST_F(InFlight, NothingEndsAfterACrash) {
  const auto file = create(2);
  const auto a = file->begin("http://a/");
  file->signal() = 11;
  file->end(a);
  EXPECT_THAT(texts(), ElementsAre("http://a/"));
  EXPECT_EQ(read().signal, 11);
}

TEST_F(InFlight, EachRunIsAnother) {
  create(2)->begin("http://a/");
  const auto first = read().run;
  create(2);
  EXPECT_NE(read().run, first);
  EXPECT_THAT(texts(), IsEmpty());
}

TEST_F(InFlight, ALinkOfThatNameIsNotFollowed) {
  const std::string other = directory_ / "other";
  std::ofstream(other) << "the user's";
  std::filesystem::create_symlink(other, path_);
  create(2);
  EXPECT_EQ(read_file(other, 100).value(), "the user's");
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
}

TEST_F(InFlight, ThreadsShareNoSlot) {
  const auto file = create(40);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 2000; ++round) {
        std::vector<InFlightFile::Slot> slots;
        for (int n = 0; n < 10; ++n)
          slots.push_back(file->begin("http://host/" + std::to_string(i * 10 + n)));
        // The last ones stay.
        for (const auto slot : round < 1999 ? slots : std::vector<InFlightFile::Slot>())
          file->end(slot);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::vector<std::string> found = texts();
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found.size(), 40u);
  EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
  EXPECT_EQ(read().unlisted, 0u);
}

TEST_F(InFlight, DamageIsNoticed) {
  const auto damaged = [&](std::size_t offset, std::string_view bytes) {
    create(2)->begin("http://a/");
    overwrite(offset, bytes);
    const auto record = InFlightFile::read(path_);
    return !record && record.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_TRUE(damaged(0, "X"));
  EXPECT_TRUE(damaged(8, "\2"));   // the version, and with it the checksum
  EXPECT_TRUE(damaged(12, "\3"));  // the number of slots
  EXPECT_TRUE(damaged(24, "XXXX"));
  EXPECT_TRUE(damaged(3 * 512, "X"));  // behind the end
  create(2);
  std::filesystem::resize_file(path_, 700);
  EXPECT_EQ(InFlightFile::read(path_).error().code, ErrorCode::kCorrupt);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(InFlightFile::read(path_).error().code, ErrorCode::kCorrupt);
}

// Half written, or torn by a power loss: not in flight by name, but something was.
TEST_F(InFlight, ADamagedSlotIsUnlisted) {
  for (const std::size_t offset : {4, 8, 16, 24, 32}) {
    const auto file = create(1);
    file->begin("http://a/");
    overwrite(512 + offset, "X");
    EXPECT_THAT(texts(), IsEmpty()) << offset;
    EXPECT_EQ(read().unlisted, 1u) << offset;
  }
}

TEST_F(InFlight, NoRoomForItIsAnError) {
  const auto file = InFlightFile::create(directory_ / "no/such/directory", 2);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace trawl
