// A sink of another format, written by whole crawls: pages.csv. It shows what a new sink takes.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/frontier_decorator.h"
#include "crawl_fixture.h"
#include "crawler/output/line_sink.h"
#include "tests/support/file_faults.h"

namespace trawl {
namespace {

using test::fast_config;
using test::finish;
using test::html;
using test::Json;
using test::LoggedSite;
using test::OwnSite;
using test::pages_of;
using test::TemporaryDirectory;

// RFC 4180, with one difference: a record is one line, so that LineFile can repair the file. Line
// breaks in a field become spaces.
void append_field(std::string& line, std::string_view text) {
  if (!line.empty() && line.back() != '\n') line += ',';
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c == '\n' || c == '\r' ? ' ' : c;
  }
  line += '"';
}

class CsvSink final : public LineSink {
 public:
  static constexpr std::string_view kFile = "pages.csv";
  static bool is_wanted(const CrawlConfig&) { return true; }
  using LineSink::LineSink;

  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.listed;
  }

 protected:
  std::string_view header() const override { return "url,status,content_type,bytes,links\n"; }
  void encode_page(const PageOutput& page, std::string& lines) const override {
    append_field(lines, page.lease.url);
    append_field(lines, std::to_string(page.outcome.status));
    append_field(lines, page.page.content_type);
    append_field(lines, std::to_string(page.page.bytes));
    append_field(lines, std::to_string(page.page.links));
    lines += '\n';
  }
};

std::vector<SinkKind> with_csv() {
  std::vector<SinkKind> kinds(built_in_sinks().begin(), built_in_sinks().end());
  kinds.push_back(line_sink_kind<CsvSink>());
  return kinds;
}

using Row = std::vector<std::string>;

// A reader with code of its own. Fails the test at a record that is not complete.
std::vector<Row> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string text = std::move(bytes).str();
  std::vector<Row> rows;
  Row row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      row.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      row.emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back(std::exchange(row, Row(1)));
    } else {
      row.back() += c;
    }
  }
  EXPECT_FALSE(quoted) << "an open quote at the end of " << path;
  EXPECT_EQ(row, Row(1)) << "half a record at the end of " << path;
  for (const Row& each : rows)
    EXPECT_EQ(each.size(), 5u) << each.front();
  return rows;
}

std::filesystem::path csv_of(const CrawlConfig& config) {
  return output_directory(config) / "pages.csv";
}

// The rows below the header, sorted, as pages.jsonl has them.
std::vector<Row> expected_rows(const CrawlConfig& config) {
  std::vector<Row> rows;
  for (const Json& page : pages_of(config)) {
    const Json& type = page["content_type"];
    rows.push_back({page["url"], std::to_string(page["status"].get<int>()),
                    type.is_null() ? std::string() : type.get<std::string>(),
                    std::to_string(page["bytes"].get<std::uint64_t>()),
                    std::to_string(page["links"].get<std::uint64_t>())});
  }
  std::ranges::sort(rows);
  return rows;
}

// Checks the header, and that pages.csv has what pages.jsonl has.
void expect_same_pages(const CrawlConfig& config) {
  auto rows = read_csv(csv_of(config));
  const auto expected = expected_rows(config);
  ASSERT_EQ(rows.size(), expected.empty() ? 0 : expected.size() + 1);
  if (rows.empty()) return;
  EXPECT_EQ(rows.front(), (Row{"url", "status", "content_type", "bytes", "links"}));
  rows.erase(rows.begin());
  std::ranges::sort(rows);
  EXPECT_EQ(rows, expected);
}

// Looks for a page's row at the moment when its lease ends.
class WatchedFrontier final : public FrontierDecorator<WatchedFrontier> {
 public:
  WatchedFrontier(std::unique_ptr<Frontier> frontier, std::filesystem::path csv)
      : FrontierDecorator(std::move(frontier)), csv_(std::move(csv)) {}

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    auto leases = inner().lease(request);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; leases && i < leases->size(); ++i)
      urls_[(*leases)[i].id] = (*leases)[i].url;
    return leases;
  }
  Result<std::vector<Admission>> complete(std::uint64_t id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    {
      const std::lock_guard lock(mutex_);
      const bool ends = !outcome.end_later;
      if (ends && !is_written(urls_[id])) ++early;
      if (ends) ++ended;
    }
    return inner().complete(id, outcome, links);
  }

  int ended = 0;  // leases
  int early = 0;  // of these, before there was a row

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }

  // Reads on where the call before ended: a row that is there stays.
  bool is_written(const std::string& url) {
    std::ifstream file(csv_);
    file.seekg(read_);
    for (std::string line; std::getline(file, line) && !file.eof(); read_ = file.tellg())
      written_.insert(line.substr(1, line.find("\",") - 1));
    return written_.contains(url);
  }

  const std::filesystem::path csv_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> urls_;
  std::set<std::string> written_;
  std::streamoff read_ = 0;
};

TEST(CsvSink, N3_APageIsCompletedAfterItsRowIsWritten) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 150, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  const auto kinds = with_csv();
  const WatchedFrontier* watched = nullptr;
  const auto crawl = Crawl::open(config, {.mode = OpenMode::kCreate,
                                          .frontier = test::frontier_within([&](auto frontier) {
                                            auto around = std::make_unique<WatchedFrontier>(
                                                std::move(frontier), csv_of(config));
                                            watched = around.get();
                                            return around;
                                          }),
                                          .sinks = kinds});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  finish(**crawl);
  EXPECT_EQ((*crawl)->why_ended(), EndReason::kFinished);
  EXPECT_EQ(static_cast<std::size_t>(watched->ended), pages_of(config).size());
  EXPECT_GT(watched->ended, 150);
  EXPECT_EQ(watched->early, 0);
  expect_same_pages(config);
}

TEST(CsvSink, QuotesWhatAServerSends) {
  const TemporaryDirectory directory;
  const OwnSite site([](const std::string& target) {
    if (target == "/robots.txt") return test::text("");
    HttpReply reply = html(target == "/" ? "<a href='/a,b?\"c\"'>x</a>" : "a page");
    if (target != "/") reply.content_type = "text/html; a=\"b, \"\"c\"";
    return reply;
  });
  const CrawlConfig config = fast_config(directory, {site.url("/")});
  const auto kinds = with_csv();
  const auto crawl = Crawl::open(config, {.mode = OpenMode::kCreate, .sinks = kinds});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  finish(**crawl);
  ASSERT_EQ(pages_of(config).size(), 2u);
  expect_same_pages(config);
  EXPECT_EQ(read_csv(csv_of(config)).back()[2], "text/html; a=\"b, \"\"c\"");
}

// E1: the crawl ends with an error, and a resumed one has each page once, in all files.
TEST(CsvSink, E1_AWriteThatFailsStopsTheCrawlAndIsTakenBack) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 60, 1);
  const CrawlConfig config = fast_config(directory, site->seeds());
  const auto kinds = with_csv();
  const std::set<std::string> reachable = [&] {
    const auto urls = site->reachable_urls();
    return std::set(urls.begin(), urls.end());
  }();
  int stopped = 0;
  for (const std::uint64_t write : {1, 2, 3}) {
    test::FileFaults disk(output_directory(config));
    const auto crawl = Crawl::open(config, {.sinks = kinds});
    ASSERT_TRUE(crawl) << crawl.error().message;
    disk.fail_once(write, ENOSPC, "pages.csv");
    (*crawl)->start();
    test::wait_until([&] { return (*crawl)->ended(); });
    const bool struck = disk.heal();
    const auto closed = (*crawl)->close();
    EXPECT_EQ(closed.has_value(), !struck);
    if (struck) {
      ++stopped;
      EXPECT_EQ(closed.error().code, ErrorCode::kNoSpace) << closed.error().message;
    }
    expect_same_pages(config);
  }
  EXPECT_GE(stopped, 2);
  std::ofstream(csv_of(config), std::ios::app) << "\"http://half.example/\",\"2";
  const auto crawl = Crawl::open(config, {.sinks = kinds});
  ASSERT_TRUE(crawl) << crawl.error().message;
  ASSERT_EQ((*crawl)->repairs().size(), 1u);
  (*crawl)->start();
  finish(**crawl);
  expect_same_pages(config);
  const auto keys = test::keys_of(pages_of(config));
  EXPECT_EQ(std::set(keys.begin(), keys.end()), reachable);
  EXPECT_EQ(keys.size(), reachable.size()) << "a page has two rows";
}

}  // namespace
}  // namespace trawl
