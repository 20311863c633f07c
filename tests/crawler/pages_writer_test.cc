#include "crawler/pages_writer.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr std::size_t kBlock = 64 * 1024;  // what the writer reads at a time to find a half line

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_all_of(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::chrono::system_clock::time_point at(std::int64_t milliseconds) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds));
}

// A lease and its outcome, which a Completion only refers to.
struct Fetched {
  Lease lease;
  Outcome outcome;
  PageRecord page;
  std::size_t links = 0;
  std::size_t new_links = 0;

  Completion completion() const { return {lease, outcome, links, new_links}; }
  std::string line() const { return to_json_line(completion(), page); }
};

Fetched fetched(const std::string& url) {
  Fetched made;
  made.lease.url = url;
  made.lease.parent = "http://site.example/";
  made.lease.depth = 3;
  made.outcome.status = 200;
  made.page.content_type = "text/html; charset=utf-8";
  made.page.bytes = 1234;
  made.page.links = 17;
  made.page.fetched_at = at(1'700'000'000'042);  // 2023-11-14T22:13:20.042Z
  made.page.elapsed = std::chrono::milliseconds(56);
  made.links = 12;
  made.new_links = 5;
  return made;
}

// Appends one completion with its record.
Result<void> append(PagesWriter& writer, Fetched& one) {
  one.outcome.context = std::make_shared<const PageRecord>(one.page);
  const std::vector<Completion> completions{one.completion()};
  return writer.append(completions);
}

PagesWriter opened(const TemporaryDirectory& directory) {
  auto writer = PagesWriter::open(directory.path());
  if (!writer) {
    ADD_FAILURE() << writer.error().message;
    std::abort();
  }
  return std::move(*writer);
}

TEST(JsonLine, HasAllKeysInTheirOrder) {
  EXPECT_EQ(fetched("http://site.example/a?b=1&c=\"d\"").line(),
            R"({"url":"http://site.example/a?b=1&c=\"d\"","status":200,"error":null,)"
            R"("redirect":null,"content_type":"text/html; charset=utf-8","bytes":1234,"depth":3,)"
            R"("parent":"http://site.example/","links":17,"new_links":5,)"
            R"("fetched_at":"2023-11-14T22:13:20.042Z","elapsed_ms":56})"
            "\n");
}

TEST(JsonLine, OfAFailedFetchAndOfARedirect) {
  Fetched failed;
  failed.lease.url = "http://gone.example/";
  failed.outcome.error = "timeout";
  failed.page.fetched_at = at(0);
  EXPECT_EQ(failed.line(),
            R"({"url":"http://gone.example/","status":0,"error":"timeout","redirect":null,)"
            R"("content_type":null,"bytes":0,"depth":0,"parent":null,"links":0,"new_links":0,)"
            R"("fetched_at":"1970-01-01T00:00:00.000Z","elapsed_ms":0})"
            "\n");
  Fetched redirect = fetched("http://site.example/old");
  redirect.outcome.status = 301;
  redirect.page.redirect = "http://site.example/new";
  EXPECT_THAT(redirect.line(), HasSubstr(R"("redirect":"http://site.example/new")"));
}

TEST(JsonLine, TimesAreUtcWithMillisecondsRoundedDown) {
  Fetched page = fetched("http://site.example/");
  page.page.fetched_at =
      at(1'709'251'199'999) + std::chrono::microseconds(999);  // the end of a leap day
  EXPECT_THAT(page.line(), HasSubstr(R"("fetched_at":"2024-02-29T23:59:59.999Z")"));
}

TEST(JsonLine, NumbersAreWholeUpToTheLargest) {
  Fetched page = fetched("http://site.example/");
  page.page.bytes = UINT64_MAX;
  page.lease.depth = UINT32_MAX;
  EXPECT_THAT(page.line(), HasSubstr(R"("bytes":18446744073709551615,"depth":4294967295,)"));
}

// What a server sends is any bytes; the line stays one line of valid UTF-8 and valid JSON.
TEST(JsonLine, AnyBytesFromTheServerGiveOneValidLine) {
  const std::string hostile[] = {
      "text/\xff\xfehtml",
      "\xc3",              // a character cut off
      "\xed\xa0\x80",      // a surrogate
      "\xc0\xaf",          // an overlong '/'
      "\xf4\x90\x80\x80",  // beyond the last code point
      "a\nb\r\n\tc\x01\x7f\"\\",
      std::string("nul\0nul", 7),
      std::string(100'000, '\x80'),
  };
  for (const std::string& bytes : hostile) {
    SCOPED_TRACE(::testing::PrintToString(bytes.substr(0, 20)));
    Fetched page = fetched("http://site.example/");
    page.page.content_type = bytes;
    page.page.redirect = bytes;
    page.outcome.error = bytes;
    const std::string line = page.line();
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded());  // its parser rejects invalid UTF-8
    EXPECT_EQ(parsed["content_type"], parsed["redirect"]);
    EXPECT_EQ(parsed["url"], "http://site.example/");
  }
  Fetched page = fetched("http://site.example/");
  page.page.content_type = "caf\xc3\xa9; x=\xff";
  EXPECT_THAT(page.line(), HasSubstr("caf\xc3\xa9; x=\xef\xbf\xbd")) << "U+FFFD for what is not";
}

TEST(PagesWriter, CreatesTheDirectoryAndAppends) {
  const TemporaryDirectory directory;
  const auto nested = directory.path() / "a" / "b";
  Fetched one = fetched("http://site.example/1");
  Fetched two = fetched("http://site.example/2");
  {
    auto writer = PagesWriter::open(nested);
    ASSERT_TRUE(writer) << writer.error().message;
    EXPECT_EQ(writer->path(), (nested / "pages.jsonl").string());
    ASSERT_TRUE(append(*writer, one));
  }
  auto again = PagesWriter::open(nested);
  ASSERT_TRUE(again);
  ASSERT_TRUE(append(*again, two));
  EXPECT_EQ(read_all(again->path()), one.line() + two.line());
}

TEST(PagesWriter, SaysWhichPathItCannotWrite) {
  const TemporaryDirectory directory;
  write_all_of(directory / "file", "");
  const auto under_a_file = PagesWriter::open(directory.path() / "file" / "output");
  ASSERT_FALSE(under_a_file);
  EXPECT_THAT(under_a_file.error().message, HasSubstr(directory / "file"));

  std::filesystem::create_directories(directory.path() / "taken" / "pages.jsonl");
  const auto a_directory = PagesWriter::open(directory.path() / "taken");
  ASSERT_FALSE(a_directory);
  EXPECT_THAT(a_directory.error().message, HasSubstr("pages.jsonl"));
}

TEST(PagesWriter, CompletionsWithoutARecordGiveNoLine) {
  const TemporaryDirectory directory;
  auto writer = opened(directory);
  Fetched with = fetched("http://site.example/with");
  with.outcome.context = std::make_shared<const PageRecord>(with.page);
  Fetched without = fetched("http://site.example/without");
  without.outcome.requested = false;
  const std::vector<Completion> completions{without.completion(), with.completion(),
                                            without.completion()};
  ASSERT_TRUE(writer.append(completions));
  EXPECT_EQ(read_all(writer.path()), with.line());
  ASSERT_TRUE(writer.append({}));
  EXPECT_EQ(read_all(writer.path()), with.line());
}

struct HalfLine {
  const char* name;
  std::string whole;  // lines that stay
  std::string half;
};

std::vector<HalfLine> half_lines() {
  const std::string line = fetched("http://site.example/whole").line();
  return {
      {"none", line + line, ""},
      {"short", line + line, R"({"url":"http://site.ex)"},
      {"one byte", line, "{"},
      {"only a half line", "", R"({"url":"http://site.example/")"},
      {"only a long half line", "", std::string(3 * kBlock + 5, 'x')},
      {"a half line of one block", line, std::string(kBlock, 'x')},
      {"one byte less than a block", line, std::string(kBlock - 1, 'x')},
      {"one byte more than a block", line, std::string(kBlock + 1, 'x')},
      {"many blocks", line + line, std::string(5 * kBlock + 123, 'x')},
      {"only a block", "", std::string(kBlock, 'x')},
      {"nothing at all", "", ""},
      {"an empty line stays", line + "\n", "x"},
      {"zeroes, as a file system may leave", line, std::string(4096, '\0')},
  };
}

TEST(PagesWriter, CutsTheHalfLineThatACrashLeft) {
  Fetched next = fetched("http://site.example/next");
  for (const HalfLine& found : half_lines()) {
    SCOPED_TRACE(found.name);
    const TemporaryDirectory directory;
    write_all_of(directory / "pages.jsonl", found.whole + found.half);
    auto writer = opened(directory);
    EXPECT_TRUE(read_all(writer.path()) == found.whole);
    ASSERT_TRUE(append(writer, next));
    EXPECT_TRUE(read_all(writer.path()) == found.whole + next.line());
  }
}

// Makes files of this process end at `bytes`, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &now) != 0) ADD_FAILURE() << "cannot limit the size of files";
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(PagesWriter, AFailedAppendLeavesNoPartOfALine) {
  const TemporaryDirectory directory;
  auto writer = opened(directory);
  Fetched before = fetched("http://site.example/before");
  ASSERT_TRUE(append(writer, before));
  const std::string whole = before.line();

  std::vector<Fetched> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(fetched("http://site.example/many/" + std::to_string(i)));
    many.back().outcome.context = std::make_shared<const PageRecord>(many.back().page);
  }
  std::vector<Completion> completions;
  for (const Fetched& one : many)
    completions.push_back(one.completion());

  // Room for nothing, for half a line, for one line and a bit, for nine.
  const std::size_t line = many[0].line().size();
  for (const std::size_t room : {std::size_t{0}, line / 2, line + 1, 9 * line + line / 2}) {
    SCOPED_TRACE("room for " + std::to_string(room));
    {
      const FileSizeLimit limit(whole.size() + room);
      const auto failed = writer.append(completions);
      ASSERT_FALSE(failed);
      EXPECT_THAT(failed.error().message, HasSubstr(writer.path()));
    }
    EXPECT_EQ(read_all(writer.path()), whole);
  }

  // With room again it goes on, each line once.
  ASSERT_TRUE(writer.append(completions));
  std::string expected = whole;
  for (const Fetched& one : many)
    expected += one.line();
  EXPECT_EQ(read_all(writer.path()), expected);
}

}  // namespace
}  // namespace trawl
