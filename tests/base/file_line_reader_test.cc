#include "base/file_line_reader.h"

#include <cstddef>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

struct Line {
  std::string text;
  bool too_long = false;
  bool whole = true;
  std::uint64_t offset = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

class FileLineReaderTest : public testing::Test {
 protected:
  InputFile file_of(const std::string& bytes) {
    const std::string path = (directory_.path() / "lines").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return std::move(*InputFile::open(path));
  }
  test::TemporaryDirectory directory_;
};

std::vector<Line> all_of(FileLineReader lines) {
  std::vector<Line> all;
  while (*lines.next()) {
    all.push_back({std::string(lines.line()), lines.too_long(), lines.whole(), lines.offset()});
    EXPECT_EQ(lines.number(), all.size());
  }
  EXPECT_FALSE(*lines.next()) << "at the end it stays at the end";
  return all;
}

// What the lines of `bytes` are, the simple way.
std::vector<Line> expected(const std::string& bytes, std::size_t max_line) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\n', at);
    const bool whole = end != std::string::npos;
    std::string text = bytes.substr(at, whole ? end - at : std::string::npos);
    const bool too_long = text.size() > max_line;
    const std::size_t length = text.size();
    lines.push_back({too_long ? "" : std::move(text), too_long, whole, at});
    at += length + (whole ? 1 : 0);
  }
  return lines;
}

TEST_F(FileLineReaderTest, AreThoseOfTheFile) {
  for (const std::string bytes :
       {"", "\n", "a", "a\n", "a\n\nb", "\n\na\r\n", "12345\n123456\n1"}) {
    const InputFile file = file_of(bytes);
    EXPECT_EQ(all_of(FileLineReader(file, 5)), expected(bytes, 5)) << bytes;
  }
}

TEST_F(FileLineReaderTest, OfAnyLengthAcrossTheBuffersEnds) {
  std::mt19937 random(7);
  constexpr std::size_t kMax = 300'000;  // more than is read at once
  for (int round = 0; round < 20; ++round) {
    std::string bytes;
    while (bytes.size() < 2'000'000) {
      const std::size_t size = std::exponential_distribution<>(1.0 / (round + 1) / 10'000)(random);
      bytes.append(size, static_cast<char>('a' + bytes.size() % 26)).append("\n");
    }
    if (round % 2 == 0) bytes.append(random() % 600'000, 'z');
    const InputFile file = file_of(bytes);
    EXPECT_EQ(all_of(FileLineReader(file, kMax)), expected(bytes, kMax)) << "round " << round;
  }
}

TEST_F(FileLineReaderTest, OfAPartEndWithIt) {
  const InputFile file = file_of("one\ntwo\nthree\n");
  FileLineReader lines(file, 100, 4, 11);
  ASSERT_TRUE(*lines.next());
  EXPECT_EQ(lines.line(), "two");
  EXPECT_EQ(lines.offset(), 4u);
  EXPECT_EQ(lines.next_offset(), 8u);
  ASSERT_TRUE(*lines.next());
  EXPECT_EQ(lines.line(), "thr");
  EXPECT_FALSE(lines.whole());
  EXPECT_EQ(lines.next_offset(), 11u);
  EXPECT_FALSE(*lines.next());
}

}  // namespace
}  // namespace trawl
