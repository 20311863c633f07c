#include "crawler/warc/warc_builder.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/sha1.h"
#include "tests/crawler/warc/warc_pages.h"
#include "tests/crawler/warc/warc_reading.h"
#include "tests/support/random_text.h"

namespace trawl {
namespace {

using test::Page;
using test::read_records;
using test::ReadRecord;
using testing::HasSubstr;
using testing::Not;

struct Built {
  WarcRecords records;
  std::vector<ReadRecord> read;
  const ReadRecord& main() const { return read.at(0); }
  nlohmann::json cdxj() const {
    const std::string line = records.cdxj + cdxj_end(7, 11, "f.warc.gz");
    return nlohmann::json::parse(line.substr(line.find('{')));
  }
};

Built build(const WarcExchange& exchange, const RevisitOf* of = nullptr,
            WarcBuilderOptions options = {}) {
  WarcBuilder builder(options);
  Built built{.records = builder.build(exchange, {}, of), .read = {}};
  built.read = read_records(built.records.bytes);
  EXPECT_FALSE(built.read.empty());
  EXPECT_EQ(built.records.main_offset, 0u);
  EXPECT_EQ(built.records.main_length, built.main().length);
  return built;
}

TEST(Sha1Digest, KnownValues) {
  EXPECT_EQ(sha1_digest(""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
  EXPECT_EQ(sha1_digest("abc"), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
  Sha1 sha1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sha1.digest("a", "bc"), sha1_digest("abc"));
    EXPECT_EQ(sha1.digest(std::string(1000, 'x')), test::independent_sha1(std::string(1000, 'x')));
  }
}

TEST(WarcDate, HasMicrosecondsWhateverTheYear) {
  EXPECT_EQ(warc_date(test::test_time()), "2026-11-21T20:31:09.123456Z");
  EXPECT_EQ(warc_date({}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(warc_date(std::chrono::system_clock::time_point(std::chrono::microseconds(-1))),
            "1969-12-31T23:59:59.999999Z");
}

TEST(WarcBuilder, ResponseRequestAndMetadata) {
  const Page page("http://example.com/a?b#c");
  const WarcOutlink links[] = {{"http://example.com/x", "a"},
                               {"http://example.com/y z\r\n", "img"}};
  WarcExchange exchange = page.exchange();
  exchange.outlinks = links;
  const Built built = build(exchange);
  ASSERT_EQ(built.read.size(), 3u);

  const ReadRecord& response = built.read[0];
  EXPECT_EQ(response.field("WARC-Type"), "response");
  EXPECT_EQ(response.field("WARC-Target-URI"), "http://example.com/a?b");
  EXPECT_EQ(response.field("WARC-Date"), "2026-11-21T20:31:09.123456Z");
  EXPECT_EQ(response.field("WARC-Date"), built.records.date);
  EXPECT_EQ(response.field("WARC-IP-Address"), "127.0.0.1");
  EXPECT_EQ(response.field("Content-Type"), "application/http;msgtype=response");
  EXPECT_EQ(response.field("WARC-Protocol"), "");
  EXPECT_EQ(response.field("WARC-Truncated"), "");
  EXPECT_EQ(response.block, page.response + page.body);
  EXPECT_EQ(built.records.page_bytes, page.body.size());

  const ReadRecord& request = built.read[1];
  EXPECT_EQ(request.field("WARC-Type"), "request");
  EXPECT_EQ(request.field("Content-Type"), "application/http;msgtype=request");
  EXPECT_EQ(request.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
  EXPECT_EQ(request.block, page.request);

  const ReadRecord& metadata = built.read[2];
  EXPECT_EQ(metadata.field("WARC-Type"), "metadata");
  EXPECT_EQ(metadata.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
  EXPECT_EQ(metadata.block,
            "via: http://example.com/from\r\nhopsFromSeed: LL\r\nfetchTimeMs: 17\r\n"
            "outlink: http://example.com/x a\r\noutlink: http://example.com/y%20z%0D%0A img\r\n");
}

TEST(WarcBuilder, WhatIsNotThereOrNotWantedIsLeftOut) {
  const Page page("http://example.com/");
  WarcExchange exchange = page.exchange();
  exchange.request_head = {};
  exchange.ip = {};
  exchange.via = {};
  exchange.hops = 0;
  Built built = build(exchange, nullptr, {.metadata = false});
  EXPECT_EQ(built.read.size(), 1u);
  EXPECT_EQ(built.main().fields.count("WARC-IP-Address"), 0u);
  built = build(exchange);
  ASSERT_EQ(built.read.size(), 2u);
  EXPECT_EQ(built.read[1].block, "fetchTimeMs: 17\r\n");
}

TEST(WarcBuilder, RecordIdsAreRandomUuids) {
  const Page page("http://example.com/");
  std::set<std::string> ids;
  for (int b = 0; b < 20; ++b) {
    WarcBuilder builder;
    for (int i = 0; i < 20; ++i) {
      for (const ReadRecord& record : read_records(builder.build(page.exchange()).bytes)) {
        const std::string id = record.field("WARC-Record-ID");
        EXPECT_THAT(id, testing::MatchesRegex(
                            "<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                            "[0-9a-f]{12}>"));
        EXPECT_TRUE(ids.insert(id).second);
      }
    }
  }
  EXPECT_EQ(ids.size(), 20u * 20 * 3);
}

TEST(WarcBuilder, AllLevelsAndSizesComeBack) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int level = 0; level <= 12; ++level) {
    WarcBuilder builder({.level = level});
    for (const std::size_t size : {0u, 1u, 100u, 70'000u, 1'500'000u}) {
      std::string body;
      while (body.size() < size)
        body += size % 2 == 0 ? static_cast<char>(random()) : 'x';
      const Page page("http://example.com/", body);
      const auto read = read_records(builder.build(page.exchange()).bytes);
      ASSERT_EQ(read.at(0).payload(), body) << level << " " << size;
      if (level > 4 && size > 100'000) break;  // the slow levels
    }
  }
}

TEST(WarcBuilder, RevisitOfTheSamePayload) {
  const Page page("http://example.com/copy");
  const RevisitOf of{.url = "http://example.com/first#x",
                     .date = "2026-11-20T00:00:00.000000Z",
                     .digest = sha1_digest(page.body)};
  const Built built = build(page.exchange(), &of);
  const ReadRecord& revisit = built.main();
  EXPECT_EQ(revisit.field("WARC-Type"), "revisit");
  EXPECT_EQ(revisit.field("WARC-Profile"),
            "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest");
  EXPECT_EQ(revisit.field("WARC-Refers-To-Target-URI"), "http://example.com/first");
  EXPECT_EQ(revisit.field("WARC-Refers-To-Date"), of.date);
  EXPECT_EQ(revisit.field("WARC-Payload-Digest"), of.digest);
  EXPECT_EQ(revisit.field("WARC-Truncated"), "length");
  EXPECT_EQ(revisit.block, page.response);
  EXPECT_EQ(built.records.page_bytes, 0u);
  EXPECT_EQ(built.cdxj()["mime"], "warc/revisit");
  EXPECT_EQ(built.cdxj()["digest"], of.digest);
}

TEST(WarcBuilder, AResponseCanBeReplacedByARevisit) {
  const Page page("http://example.com/copy");
  const RevisitOf of{
      .url = "http://example.com/first", .date = "2026-11-20T00:00:00.000000Z", .digest = ""};
  WarcExchange exchange = page.exchange();
  exchange.protocol = "h2";
  const Built expected = build(exchange, &of);
  WarcBuilder builder({.replaceable = true});
  WarcRecords records = builder.build(exchange);
  ASSERT_TRUE(records.replaceable);
  EXPECT_GT(records.replaceable.memory(), page.response.size());
  const auto before = read_records(records.bytes);
  builder.replace_by_revisit(records, of);
  EXPECT_FALSE(records.replaceable);
  EXPECT_EQ(records.page_bytes, 0u);
  EXPECT_EQ(records.cdxj, expected.records.cdxj);
  const auto after = read_records(records.bytes);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(records.main_length, after[0].length);
  EXPECT_EQ(after[0].block, expected.main().block);
  auto fields = expected.main().fields;
  fields["WARC-Record-ID"] = before[0].field("WARC-Record-ID");
  EXPECT_EQ(after[0].fields, fields);
  for (std::size_t i = 1; i < after.size(); ++i) {
    EXPECT_EQ(after[i].fields, before[i].fields);
    EXPECT_EQ(after[i].block, before[i].block);
  }
}

TEST(WarcBuilder, Resources) {
  WarcBuilder builder;
  const std::string block = "20261121203109\nexample.com.\t300\tIN\tA\t192.0.2.7\n";
  const WarcRecords records = builder.build(WarcResource{.url = "dns:example.com",
                                                         .ip = "192.0.2.53",
                                                         .content_type = "text/dns",
                                                         .block = block,
                                                         .date = test::test_time()});
  const auto read = read_records(records.bytes);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(records.main_length, read[0].length);
  EXPECT_EQ(records.page_bytes, 0u) << "no body of a page";
  EXPECT_EQ(read[0].field("WARC-Type"), "resource");
  EXPECT_EQ(read[0].field("WARC-Target-URI"), "dns:example.com");
  EXPECT_EQ(read[0].field("WARC-Date"), "2026-11-21T20:31:09.123456Z");
  EXPECT_EQ(read[0].field("WARC-IP-Address"), "192.0.2.53");
  EXPECT_EQ(read[0].field("Content-Type"), "text/dns");
  EXPECT_EQ(read[0].field("WARC-Payload-Digest"), sha1_digest(block));
  EXPECT_EQ(read[0].block, block);
  // As cdxj-indexer has it.
  EXPECT_TRUE(
      records.cdxj.starts_with("dns:example.com 20261121203109 {\"url\": \"dns:example.com\", "
                               "\"mime\": \"text/dns\", \"digest\": \"sha1:"))
      << records.cdxj;
}

TEST(WarcBuilder, WhatIsNotReplaced) {
  const Page page("http://example.com/copy");
  EXPECT_FALSE(build(page.exchange()).records.replaceable) << "nobody asked for it";
  const WarcBuilderOptions replaceable{.replaceable = true};
  const RevisitOf of{.url = page.url, .date = "2026-11-20T00:00:00.000000Z", .digest = ""};
  EXPECT_FALSE(build(page.exchange(), &of, replaceable).records.replaceable) << "a revisit";
  WarcExchange cut = page.exchange();
  cut.truncated = "length";
  EXPECT_FALSE(build(cut, nullptr, replaceable).records.replaceable) << "a part of the body";
  EXPECT_FALSE(build(Page(page.url, "").exchange(), nullptr, replaceable).records.replaceable);
}

TEST(WarcBuilder, RevisitOfWhatTheServerSaysIsTheSame) {
  Page page("http://example.com/", "");
  page.response = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 4711\r\n\r\n";
  const RevisitOf of{.url = page.url,
                     .date = "2026-11-20T00:00:00.000000Z",
                     .digest = sha1_digest("of then"),
                     .server_not_modified = true};
  WarcExchange exchange = page.exchange();
  exchange.status = 304;
  const Built built = build(exchange, &of);
  EXPECT_EQ(built.main().field("WARC-Profile"),
            "http://netpreserve.org/warc/1.1/revisit/server-not-modified");
  EXPECT_EQ(built.main().field("WARC-Payload-Digest"), of.digest);
  EXPECT_EQ(built.main().field("WARC-Truncated"), "");
  EXPECT_EQ(built.main().block, page.response);  // its Content-Length is not about this message
  EXPECT_EQ(built.cdxj()["status"], "304");
  // What is not known of the first capture is left out.
  const RevisitOf bare{.url = page.url, .date = "", .digest = "", .server_not_modified = true};
  const Built other = build(exchange, &bare);
  EXPECT_EQ(other.main().fields.count("WARC-Refers-To-Date"), 0u);
  EXPECT_EQ(other.main().fields.count("WARC-Payload-Digest"), 0u);
}

TEST(WarcBuilder, FieldsThatDoNotFitThePayloadAreRenamed) {
  const auto head_of = [](const std::string& fields, int status = 200) {
    const Page page("http://example.com/", "12345", fields);
    WarcExchange exchange = page.exchange();
    exchange.status = status;
    return build(exchange).main().head();
  };
  EXPECT_EQ(head_of("Transfer-Encoding: chunked\r\n"),
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nServer: x\r\n\r\n");
  EXPECT_THAT(head_of("Content-Length: 5\r\n"), HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(head_of("Content-Length: 5\r\n"), Not(HasSubstr("X-Archive")));
  EXPECT_THAT(head_of("content-LENGTH : 500\r\n"),
              HasSubstr("\r\nX-Archive-Orig-content-LENGTH : 500\r\nServer: x\r\nContent-Length: "
                        "5\r\n"));
  EXPECT_THAT(
      head_of("Content-Length: 5\r\nContent-Length: 6\r\n"),
      HasSubstr("X-Archive-Orig-Content-Length: 5\r\nX-Archive-Orig-Content-Length: 6\r\n"));
  EXPECT_THAT(head_of("Content-Encoding: gzip\r\n"), HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_THAT(head_of("Content-Length: 9\r\n", 304), HasSubstr("\r\nContent-Length: 9\r\n"));
  EXPECT_THAT(head_of("X-Transfer-Encoding: chunked\r\n"),
              HasSubstr("\r\nX-Transfer-Encoding: chunked\r\n"));
}

TEST(WarcBuilder, HeadsOfOtherVersionsGetTheFormOfHttp1) {
  const auto head_of = [](const std::string& head) {
    Page page("http://example.com/");
    page.response = head;
    WarcExchange exchange = page.exchange();
    exchange.status = 203;
    exchange.protocol = "h2";
    const Built built = build(exchange);
    EXPECT_EQ(built.main().field("WARC-Protocol"), "h2");
    EXPECT_EQ(built.main().payload(), page.body);
    return built.main().head();
  };
  EXPECT_EQ(head_of("HTTP/2 203 \r\na: b\r\n\r\n"), "HTTP/1.1 203 \r\na: b\r\n\r\n");
  EXPECT_EQ(head_of("HTTP/1.0 203 Yes\na: b"), "HTTP/1.0 203 Yes\r\na: b\r\n\r\n");
  EXPECT_EQ(head_of("\r\n\r\nHTTP/1.1 203\r\n\r\na: b\r\n \t\r\nc: d\r\r\n"),
            "HTTP/1.1 203\r\na: b\r\nc: d\r\n\r\n");
  EXPECT_EQ(head_of(""), "HTTP/1.1 203 \r\n\r\n");
  EXPECT_EQ(head_of("a: b\r\n"), "HTTP/1.1 203 \r\na: b\r\n\r\n");
  EXPECT_EQ(head_of("HTTP/3"), "HTTP/1.1\r\n\r\n");
}

TEST(WarcBuilder, CredentialsAreNotArchived) {
  Page page("http://example.com/");
  page.request =
      "GET / HTTP/1.1\r\nHost: example.com\r\nAuthorization: Basic c2VjcmV0\r\n"
      "proxy-authorization: Bearer x\r\nAccept: */*\r\n\r\n";
  EXPECT_EQ(build(page.exchange()).read.at(1).block,
            "GET / HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n");
}

TEST(WarcBuilder, IndexLine) {
  const Page page("http://www.Example.com/A/?q=\"\\&b=1#x");
  const Built built = build(page.exchange());
  EXPECT_THAT(built.records.cdxj,
              testing::StartsWith("com,example)/a?b=1&q=\"\\ 20261121203109 {"));
  const nlohmann::json expected = {{"url", built.main().field("WARC-Target-URI")},
                                   {"mime", "text/html"},
                                   {"status", "200"},
                                   {"digest", sha1_digest(page.body)},
                                   {"length", "7"},
                                   {"offset", "11"},
                                   {"filename", "f.warc.gz"}};
  EXPECT_EQ(built.cdxj(), expected);
}

TEST(WarcBuilder, IndexLineWithoutWhatTheServerLeftOut) {
  Page page("http://example.com/", "x", "");
  page.response = "HTTP/1.1 OK\r\n\r\n";
  const nlohmann::json line = build(page.exchange()).cdxj();
  EXPECT_FALSE(line.contains("mime"));
  EXPECT_FALSE(line.contains("status"));
}

TEST(WarcBuilder, MetadataIsBounded) {
  const Page page("http://example.com/");
  WarcExchange exchange = page.exchange();
  exchange.hops = 4'000'000'000;
  const std::string long_url = "http://example.com/" + std::string(1000, 'x');
  const std::vector<WarcOutlink> many(5000, WarcOutlink{"http://example.com/", "a"});
  const std::vector<WarcOutlink> large(5000, WarcOutlink{long_url, "a"});
  exchange.outlinks = many;
  const std::string block = build(exchange).read.at(2).block;
  EXPECT_THAT(block, HasSubstr("hopsFromSeed: " + std::string(255, 'L') + "\r\n"));
  EXPECT_THAT(block, HasSubstr("outlinksLeftOut: 4000\r\n"));
  exchange.outlinks = large;
  EXPECT_LT(build(exchange).read.at(2).block.size(), 130u * 1024);
}

// What comes from outside begins no field, ends no record, and moves no payload.
TEST(WarcBuilder, NothingAServerSendsBreaksRecords) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string pieces[] = {"\r\n",
                                "\n",
                                "\r",
                                std::string(1, 0),
                                ": ",
                                "HTTP/1.1 200 OK",
                                " ",
                                "\t",
                                "a",
                                "\xff",
                                "WARC/1.1",
                                "Content-Length: 3",
                                ";",
                                "\"",
                                "Transfer-Encoding: x",
                                "Content-Type: te\x01t/h",
                                "\\",
                                "304"};
  WarcBuilder builder;
  for (int i = 0; i < 3000; ++i) {
    const auto text = [&](std::size_t most) {
      return test::random_text(random, pieces, random() % most);
    };
    Page page("http://example.com/" + text(8), text(10));
    page.request = text(20);
    page.response = text(30);
    const std::string ip = text(3), truncated = text(3), protocol = text(3), via = text(6),
                      link = text(6), kind = text(3), refers = text(6);
    WarcExchange exchange = page.exchange();
    exchange.ip = ip;
    exchange.truncated = truncated;
    exchange.protocol = protocol;
    exchange.via = via;
    const WarcOutlink outlinks[] = {{link, kind}};
    exchange.outlinks = outlinks;
    const RevisitOf of{
        .url = refers, .date = refers, .digest = refers, .server_not_modified = random() % 2 == 0};
    const bool revisit = random() % 3 == 0;
    const WarcRecords records = builder.build(exchange, {}, revisit ? &of : nullptr);
    const auto read = read_records(records.bytes);
    ASSERT_EQ(read.size(), page.request.empty() ? 2u : 3u);
    if (!revisit) {
      ASSERT_EQ(read[0].payload(), page.body);
    }
    ASSERT_EQ(read.back().field("WARC-Type"), "metadata");
    ASSERT_EQ(records.cdxj.find_first_of("\r\n\0", 0, 3), std::string::npos);
    const std::string line = records.cdxj + cdxj_end(1, 2, "f");
    const std::size_t json = line.find(" {");
    ASSERT_TRUE(nlohmann::json::accept(line.substr(json + 1))) << line;
    ASSERT_EQ(line.substr(0, json).find(' '), json - 15) << line;
  }
}

}  // namespace
}  // namespace trawl
