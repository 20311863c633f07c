#include "crawler/output/output.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/crawler/output_fixture.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::exchange_of;
using test::Fetched;
using test::fetched;
using test::fetched_body;
using test::FoundRecord;
using test::OutputPlace;
using test::TemporaryDirectory;
using test::write;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string url_of(const std::string& name) {
  return "http://site.example/" + name;
}

TEST(Output, CommitReturnsWhenRecordsAndLinesAreInTheFiles) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder;
  for (const bool sync : {false, true}) {
    SCOPED_TRACE(sync);
    const auto output = place.open(sync);
    const std::size_t before = place.pages().size();
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string url = url_of((sync ? "s" : "a") + std::to_string(i));
      Fetched page = fetched_body(builder, url, "the body of " + url);
      test::add_link(*output, page, {.to = url, .kind = "navigation", .text = "x", .rel = ""});
      test::add_skipped(*output, page, {.url = url, .reason = "excluded", .rule = "no"});
      ASSERT_TRUE(write(*output, {page}));
      const auto lines = place.pages();
      ASSERT_EQ(lines.size(), before + i + 1);
      EXPECT_EQ(lines.back()["url"], url);
      EXPECT_EQ(test::record_at(place.files(), lines.back()["warc"]),
                (FoundRecord{"response", url}));
      EXPECT_EQ(test::read_lines(place.files() / "links.jsonl").size(), lines.size());
      EXPECT_EQ(test::read_lines(place.files() / "skipped.jsonl").size(), lines.size());
    }
    EXPECT_EQ(output->queued_bytes(), 0u);
    ASSERT_TRUE(output->close());
  }
}

TEST(Output, ManyPagesInOneCommit) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder;
  const auto output = place.open();
  std::vector<Fetched> pages;
  for (int i = 0; i < 500; ++i) {
    const std::string url = url_of(std::to_string(i));
    pages.push_back(fetched_body(builder, url, "body " + url));
    for (int k = 0; k < 20; ++k)
      test::add_link(*output, pages.back(),
                     {.to = url_of(std::string(200, 'x')), .kind = "form", .text = "", .rel = ""});
  }
  ASSERT_TRUE(write(*output, pages));
  const auto lines = place.pages();
  ASSERT_EQ(lines.size(), 500u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string url = url_of(std::to_string(i));
    ASSERT_EQ(lines[i]["url"], url);
    ASSERT_EQ(test::record_at(place.files(), lines[i]["warc"]), (FoundRecord{"response", url}));
  }
  EXPECT_EQ(test::read_lines(place.files() / "links.jsonl").size(), 10'000u);
  for (const Fetched& page : pages) {
    EXPECT_FALSE(page.output->warc);
    EXPECT_EQ(page.output->memory(), sizeof(PageOutput)) << "freed";
  }
}

// One page whose lines are more than is appended at a time.
TEST(Output, APageWithVeryManyLinks) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open();
  std::vector<Fetched> pages;
  for (int i = 0; i < 3; ++i) {
    pages.push_back(fetched(url_of(std::to_string(i))));
    for (int k = 0; k < (i == 1 ? 30'000 : 1); ++k)
      test::add_link(*output, pages.back(),
                     {.to = url_of(std::to_string(k)), .kind = "form", .text = "", .rel = ""});
  }
  ASSERT_TRUE(write(*output, pages));
  const auto links = test::read_lines(place.files() / "links.jsonl");
  ASSERT_EQ(links.size(), 30'002u);
  EXPECT_EQ(links.front()["from"], url_of("0"));
  EXPECT_EQ(links[30'000]["to"], url_of("29999"));
  EXPECT_EQ(links.back()["from"], url_of("2"));
}

TEST(Output, APageThatIsNotListedGivesNoLine) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open();
  Fetched unlisted = fetched(url_of("unlisted"));
  unlisted.output->listed = false;
  test::add_skipped(*output, unlisted, {.url = url_of("unlisted"), .reason = "robots", .rule = ""});
  EXPECT_TRUE(output->keeps(*unlisted.output));
  const Fetched with = fetched(url_of("with"));
  ASSERT_TRUE(write(*output, {unlisted, with}));
  ASSERT_TRUE(write(*output, {}));
  ASSERT_EQ(place.pages().size(), 1u);
  EXPECT_EQ(place.pages()[0]["url"], url_of("with"));
  EXPECT_EQ(test::read_lines(place.files() / "skipped.jsonl").size(), 1u);
}

TEST(Output, SettlingWritesWhatWasSubmitted) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open();
  output->write_due(true);
  int written = 0;
  output->submit(fetched(url_of("a")).output, [&] { ++written; });
  output->write_due(true);
  ASSERT_TRUE(output->flush());
  EXPECT_EQ(written, 1);
  EXPECT_EQ(place.pages().size(), 1u);
}

TEST(Output, WhatLeavesNothingNeedNotBeSubmitted) {
  const TemporaryDirectory directory;
  OutputPlace place(directory.path());
  place.config.output.pages = false;
  place.config.output.links = false;
  const auto output = place.open();
  Fetched page = fetched(url_of("a"));
  EXPECT_FALSE(output->keeps(*page.output)) << "without a digest";
  test::add_link(*output, page, {.to = url_of("b"), .kind = "form", .text = "", .rel = ""});
  EXPECT_FALSE(output->keeps(*page.output));
  page.output->page.digest = "sha1:x";
  EXPECT_TRUE(output->keeps(*page.output)) << "others may be copies of it";
}

TEST(Output, OnlyTheFilesThatAreWanted) {
  const TemporaryDirectory directory;
  OutputPlace place(directory.path());
  place.config.output.pages = false;
  place.config.output.links = false;
  place.config.output.skipped = false;
  place.config.output.warc = false;
  WarcBuilder builder;
  const auto output = place.open();
  Fetched page = fetched_body(builder, url_of("a"), "body");
  test::add_link(*output, page, {.to = url_of("b"), .kind = "form", .text = "", .rel = ""});
  ASSERT_TRUE(write(*output, {page}));
  test::submit_record(*output, builder.build(exchange_of(url_of("robots.txt"), "x")));
  ASSERT_TRUE(output->close());
  EXPECT_TRUE(std::filesystem::is_empty(place.files()));
}

TEST(Output, RecordsWithoutAPageAreKeptInOrder) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder;
  const auto output = place.open();
  test::submit_record(*output, builder.build(exchange_of(url_of("robots.txt"), "User-agent: *\n")));
  ASSERT_TRUE(write(*output, {fetched_body(builder, url_of("a"), "body")}));
  EXPECT_EQ(test::count_records(place.files())[(FoundRecord{"response", url_of("robots.txt")})], 1);
  test::submit_record(*output, builder.build(exchange_of(url_of("late"), "late")));
  ASSERT_TRUE(output->close());
  EXPECT_EQ(test::count_records(place.files())[(FoundRecord{"response", url_of("late")})], 1);
  EXPECT_EQ(place.pages().size(), 1u);
}

// Copies

TEST(Output, TheFirstOfEqualBodiesIsTheOneThatOthersAreCopiesOf) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder({.replaceable = true});
  auto output = place.open();
  const Fetched first = fetched_body(builder, url_of("first"), "the same body");
  const std::string digest = first.output->page.digest;
  const std::string date = first.output->warc->date;
  EXPECT_FALSE(output->find_body(digest));
  ASSERT_TRUE(write(*output, {first}));

  const auto found = output->find_body(digest);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->url, url_of("first"));
  EXPECT_EQ(found->date, date);

  Fetched second = fetched_body(builder, url_of("second"), "the same body");
  const RevisitOf of{found->url, found->date, digest, false};
  second.output->warc = builder.build(exchange_of(url_of("second"), "the same body"), digest, &of);
  ASSERT_TRUE(write(*output, {second}));
  ASSERT_TRUE(write(*output, {fetched_body(builder, url_of("third"), "the same body")}));
  ASSERT_TRUE(write(*output, {fetched_body(builder, url_of("other"), "another body")}));
  ASSERT_TRUE(output->close());

  const auto lines = place.pages();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0]["duplicate_of"].is_null());
  EXPECT_EQ(lines[1]["duplicate_of"], url_of("first"));
  EXPECT_EQ(lines[2]["duplicate_of"], url_of("first"));
  EXPECT_TRUE(lines[3]["duplicate_of"].is_null());
  EXPECT_EQ(test::record_at(place.files(), lines[0]["warc"]).type, "response");
  EXPECT_EQ(test::record_at(place.files(), lines[1]["warc"]).type, "revisit");
  EXPECT_EQ(test::record_at(place.files(), lines[2]["warc"]).type, "revisit")
      << "although the first was not known when it was built";
  EXPECT_EQ(test::check_revisits(place.files())[digest], 1);

  // And after a restart.
  output = place.open();
  EXPECT_EQ(output->find_body(digest)->url, url_of("first"));
}

// As for fetchers that get the copies at the same time.
TEST(Output, OfEqualBodiesInOneGroupOneIsStored) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder({.replaceable = true});
  const auto output = place.open();
  const std::vector<std::string> bodies = {"one body", "another body", "one body", "one body",
                                           "another body"};
  std::vector<Fetched> pages;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    pages.push_back(fetched_body(builder, url_of(std::to_string(i)), bodies[i]));
  const std::string date = pages[0].output->warc->date;
  ASSERT_TRUE(write(*output, pages));
  ASSERT_TRUE(output->close());
  for (const std::string& body : bodies)
    EXPECT_EQ(test::check_revisits(place.files())[sha1_digest(body)], 1) << body;
  const auto lines = place.pages();
  for (const std::size_t i : {0, 1})
    EXPECT_EQ(test::record_at(place.files(), lines[i]["warc"]).type, "response");
  for (const std::size_t i : {2, 3, 4}) {
    EXPECT_EQ(lines[i]["duplicate_of"], url_of(i == 4 ? "1" : "0"));
    EXPECT_EQ(test::record_at(place.files(), lines[i]["warc"]),
              (FoundRecord{"revisit", url_of(std::to_string(i))}));
  }
}

// Its page asks for that, for example: the first that is kept has the body.
TEST(Output, AFirstCopyThatIsNotKeptIsNotReferredTo) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder({.replaceable = true});
  for (const bool restarts : {false, true}) {
    const auto output = place.open();
    std::vector<Fetched> pages;
    const std::string body = restarts ? "one" : "another";
    for (const char* name : {"left-out", "kept", "copy"})
      pages.push_back(fetched_body(builder, url_of(name + body), body));
    pages[0].output->warc.reset();
    if (restarts) {
      ASSERT_TRUE(write(*output, {pages[0]}));
      ASSERT_TRUE(write(*output, {pages[1]}));
      ASSERT_TRUE(output->close());
      ASSERT_TRUE(write(*place.open(), {pages[2]}));
    } else {
      ASSERT_TRUE(write(*output, pages));
    }
    EXPECT_EQ(test::check_revisits(place.files())[sha1_digest(body)], 1);
    auto counts = test::count_records(place.files());
    EXPECT_EQ(counts[(FoundRecord{"response", url_of("kept" + body)})], 1);
    EXPECT_EQ(counts[(FoundRecord{"revisit", url_of("copy" + body)})], 1);
    for (const auto& line : place.pages()) {
      const std::string url = line["url"];
      if (!url.ends_with(body)) continue;
      if (url == url_of("left-out" + body)) continue;
      EXPECT_EQ(line["duplicate_of"], url_of("left-out" + body));
    }
  }
}

TEST(Output, WhatIsNoCopy) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder({.replaceable = true});
  const auto output = place.open();
  std::vector<Fetched> pages;
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    pages.push_back(fetched_body(builder, url_of("empty" + name), ""));
    pages.push_back(fetched_body(builder, url_of("404-" + name), "not found"));
    pages.back().outcome.status = 404;
    pages.push_back(fetched_body(builder, url_of("no-digest" + name), "body"));
    pages.back().output->page.digest.clear();
    // A 304: its revisit record alone.
    pages.push_back(fetched(url_of("304-" + name)));
    pages.back().outcome.status = 304;
    pages.back().output->page.bytes = 0;
    const RevisitOf of{url_of("304-" + name), "", "", true};
    pages.back().output->warc = builder.build(exchange_of(url_of("304-" + name), ""), {}, &of);
  }
  // The same URL again, as after a crash or when it is crawled again.
  for (int i = 0; i < 3; ++i)
    pages.push_back(fetched_body(builder, url_of("again"), "its own body"));
  ASSERT_TRUE(write(*output, pages));
  const auto lines = place.pages();
  ASSERT_EQ(lines.size(), pages.size());
  for (const auto& line : lines) {
    EXPECT_TRUE(line["duplicate_of"].is_null()) << line;
    const bool not_modified = line["url"].get<std::string>().find("304-") != std::string::npos;
    const bool again = line["url"] == url_of("again") && line != lines[lines.size() - 3];
    EXPECT_EQ(test::record_at(place.files(), line["warc"]).type,
              not_modified || again ? "revisit" : "response");
  }
}

// Opening and closing

TEST(Output, OnlyOneAtATime) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  {
    const auto output = place.open();
    const auto second =
        Output::open(place.config, place.files(), directory.path() / "state2", false);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInUse);
    const auto probed = Output::probe(place.config, place.files());
    ASSERT_FALSE(probed);
    EXPECT_EQ(probed.error().code, ErrorCode::kInUse);
  }
  EXPECT_TRUE(place.open()->close());
}

TEST(Output, ProbeTellsWhetherThereIsOutputOfACrawl) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  EXPECT_FALSE(Output::probe(place.config, place.files()).value());
  EXPECT_FALSE(std::filesystem::exists(place.files())) << "a probe makes nothing";
  ASSERT_TRUE(write(*place.open(), {fetched(url_of("a"))}));
  EXPECT_TRUE(Output::probe(place.config, place.files()).value());
  std::ofstream(directory / "file") << "x";
  const auto under_a_file = Output::probe(place.config, directory.path() / "file" / "output");
  ASSERT_FALSE(under_a_file);
  EXPECT_THAT(under_a_file.error().message, HasSubstr(directory / "file"));
}

TEST(Output, TellsWhatACrashLeft) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder;
  ASSERT_TRUE(write(*place.open(), {fetched_body(builder, url_of("a"), "body")}));  // no close()
  std::ofstream(place.files() / "pages.jsonl", std::ios::app) << R"({"url":"http://ha)";
  const auto output = place.open();
  EXPECT_THAT(output->repairs(),
              ::testing::Contains(::testing::AllOf(HasSubstr("pages.jsonl"), HasSubstr("17"))));
  EXPECT_THAT(output->repairs(), ::testing::Contains(HasSubstr(".warc.gz")));
  ASSERT_EQ(place.pages().size(), 1u);
  EXPECT_EQ(test::record_at(place.files(), place.pages()[0]["warc"]).url, url_of("a"));
}

TEST(Output, AfterCloseThereIsNothing) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open();
  ASSERT_TRUE(output->close());
  output->submit(fetched(url_of("a")).output, [] { ADD_FAILURE(); });
  EXPECT_EQ(output->queued_bytes(), 0u);
  EXPECT_EQ(write(*output, {fetched(url_of("a"))}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(output->close().error().code, ErrorCode::kClosed);
  EXPECT_TRUE(place.pages().empty());
}

TEST(Output, MayBeGivenUpWithAFullQueue) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  WarcBuilder builder;
  {
    const auto output = place.open();
    for (int i = 0; i < 1000; ++i)
      output->submit(fetched_body(builder, url_of(std::to_string(i)), "body").output, [] {});
  }
  // What was written is whole.
  const auto output = place.open();
  for (const auto& line : place.pages())
    EXPECT_EQ(test::record_at(place.files(), line["warc"]).url, line["url"]);
  for (const auto& [record, count] : test::count_records(place.files()))
    EXPECT_LE(count, 1) << record.type << " " << record.url;
}

}  // namespace
}  // namespace trawl
