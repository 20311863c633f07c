// What the tests of the output share: fetches made up, and readers of what was written.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "crawler/output/output.h"
#include "crawler/warc/sha1.h"
#include "tests/crawler/warc/warc_reading.h"

namespace trawl::test {

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

// The lines of a file, each parsed. Fails the test at a line that is not whole or not JSON.
inline std::vector<nlohmann::json> read_lines(const std::filesystem::path& path) {
  const std::string text = read_all(path);
  EXPECT_TRUE(text.empty() || text.back() == '\n') << path << " ends with a half line";
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
    EXPECT_FALSE(lines.back().is_discarded()) << path << ": " << line;
  }
  return lines;
}

inline std::chrono::system_clock::time_point at(std::int64_t milliseconds) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds));
}

// A page, and what it is made of. Copies are of the same page.
struct Fetched {
  std::shared_ptr<PageOutput> output = std::make_shared<PageOutput>();
  Lease& lease = output->lease;
  Outcome& outcome = output->outcome;
};

// Finished, with all that is always there; nothing for WARC files.
inline Fetched fetched(const std::string& url) {
  Fetched made;
  made.lease.url = url;
  made.lease.parent = "http://site.example/";
  made.lease.depth = 3;
  made.outcome.status = 200;
  PageRecord& page = made.output->page;
  page.content_type = "text/html; charset=utf-8";
  page.bytes = 1234;
  page.links = 17;
  page.new_links = 5;
  page.fetched_at = at(1'700'000'000'042);  // 2023-11-14T22:13:20.042Z
  page.elapsed = std::chrono::milliseconds(56);
  return made;
}

inline WarcExchange exchange_of(std::string_view url, std::string_view body) {
  WarcExchange made;
  made.url = url;
  made.ip = "127.0.0.1";
  made.request_head = "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n";
  made.response_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
  made.payload = body;
  made.status = 200;
  made.protocol = "http/1.1";
  made.date = at(1'700'000'000'042);
  return made;
}

// The same with a body and the records a fetcher makes of it.
inline Fetched fetched_body(WarcBuilder& builder, const std::string& url, std::string_view body) {
  Fetched made = fetched(url);
  made.output->page.bytes = body.size();
  made.output->page.digest = sha1_digest(body);
  made.output->warc = builder.build(exchange_of(url, body), made.output->page.digest);
  return made;
}

inline void add_link(const Output& output, const Fetched& page, const LinkRecord& link) {
  output.sinks().add_link(*page.output, page.lease.url, link);
}

inline void add_skipped(const Output& output, const Fetched& page, const SkippedRecord& skipped) {
  output.sinks().add_skipped(*page.output, page.lease.url, skipped);
}

// Records without a page, such as those of robots.txt.
inline void submit_record(Output& output, WarcRecords records) {
  auto page = std::make_shared<PageOutput>();
  page->listed = false;
  page->warc = std::move(records);
  output.submit(std::move(page), {});
}

// Returns when all of them are in the files and were reported in order; after an error,
// `written` has those that were: they may have been written as more than one group.
inline Result<void> write(Output& output, const std::vector<Fetched>& pages,
                          std::vector<std::string>& written) {
  std::vector<std::string> expected;
  for (const Fetched& page : pages) {
    expected.push_back(page.lease.url);
    output.submit(page.output, [&written, url = page.lease.url] { written.push_back(url); });
  }
  auto flushed = output.flush();
  if (flushed) {
    EXPECT_EQ(written, expected);
  }
  return flushed;
}

inline Result<void> write(Output& output, const std::vector<Fetched>& pages) {
  std::vector<std::string> written;
  return write(output, pages, written);
}

// The inflated gzip members from `offset` on, up to `length` bytes of the file.
inline std::string inflated(const std::string& bytes) {
  std::string out;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) std::abort();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  char block[16 * 1024];
  while (stream.avail_in > 0) {
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.append(block, sizeof block - stream.avail_out);
    if (status == Z_STREAM_END) {
      inflateReset(&stream);
    } else if (status != Z_OK) {
      ADD_FAILURE() << "a damaged gzip member";
      break;
    }
  }
  inflateEnd(&stream);
  return out;
}

struct FoundRecord {
  std::string type, url;
  friend auto operator<=>(const FoundRecord&, const FoundRecord&) = default;
};

// The first WARC record in `text`.
inline FoundRecord first_record(std::string_view text) {
  const auto value = [&](std::string_view name) -> std::string {
    const auto begin = text.find(name);
    if (begin == std::string_view::npos) return {};
    const auto end = text.find("\r\n", begin);
    return std::string(text.substr(begin + name.size(), end - begin - name.size()));
  };
  return {value("WARC-Type: "), value("WARC-Target-URI: ")};
}

// Where in the WARC files of `directory` a line of pages.jsonl points to: what record is there.
inline FoundRecord record_at(const std::filesystem::path& directory, const nlohmann::json& warc) {
  auto path = directory / warc["file"].get<std::string>();
  if (!std::filesystem::exists(path)) path += ".open";
  std::string bytes(warc["length"].get<std::size_t>(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(warc["offset"].get<std::streamoff>());
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return {"beyond the end of the file", ""};
  }
  return first_record(inflated(bytes));
}

inline std::vector<std::filesystem::path> warc_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().find(".warc") != std::string::npos)
      found.push_back(entry.path());
  }
  return found;
}

// Fails the test unless each revisit refers to a response with the same payload. Returns how many
// responses there are of each payload.
inline std::map<std::string, int> check_revisits(const std::filesystem::path& directory) {
  std::map<std::string, int> responses;
  std::map<std::string, std::string> digest_of;  // by URL and date
  std::vector<ReadRecord> revisits;
  for (const auto& path : warc_files(directory)) {
    for (const ReadRecord& record : read_records(read_all(path))) {
      const std::string type = record.field("WARC-Type");
      if (type == "revisit") revisits.push_back(record);
      if (type != "response") continue;
      ++responses[record.field("WARC-Payload-Digest")];
      digest_of[record.field("WARC-Target-URI") + " " + record.field("WARC-Date")] =
          record.field("WARC-Payload-Digest");
    }
  }
  for (const ReadRecord& revisit : revisits) {
    const std::string refers =
        revisit.field("WARC-Refers-To-Target-URI") + " " + revisit.field("WARC-Refers-To-Date");
    EXPECT_EQ(digest_of[refers], revisit.field("WARC-Payload-Digest"))
        << revisit.field("WARC-Target-URI") << " refers to " << refers;
    EXPECT_EQ(revisit.payload(), "");
  }
  return responses;
}

// How often each record is in the WARC files.
inline std::map<FoundRecord, int> count_records(const std::filesystem::path& directory) {
  std::map<FoundRecord, int> counts;
  for (const auto& path : warc_files(directory)) {
    const std::string text = inflated(read_all(path));
    for (std::size_t at = text.find("WARC/1.1\r\n"); at != std::string::npos;) {
      const std::size_t next = text.find("WARC/1.1\r\n", at + 1);
      ++counts[first_record(std::string_view(text).substr(at, next - at))];
      at = next;
    }
  }
  return counts;
}

// An output with its two directories.
struct OutputPlace {
  explicit OutputPlace(std::filesystem::path root) : root(std::move(root)) {
    config.output.links = true;
    config.output.skipped = true;
    config.output.warc = true;
  }
  std::filesystem::path root;
  CrawlConfig config;

  std::filesystem::path files() const { return root / "output"; }
  std::filesystem::path state() const { return root / "state"; }
  Result<std::unique_ptr<Output>> try_open(bool sync = false) const {
    return Output::open(config, files(), state(), sync);
  }
  std::unique_ptr<Output> open(bool sync = false) const {
    auto output = try_open(sync);
    if (!output) {
      ADD_FAILURE() << output.error().message;
      std::abort();
    }
    return std::move(*output);
  }
  std::vector<nlohmann::json> pages() const { return read_lines(files() / "pages.jsonl"); }
};

}  // namespace trawl::test
