// What must hold of a directory of WARC files whenever they are all closed.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crawler/warc/warc_files.h"
#include "tests/crawler/warc/warc_pages.h"
#include "tests/crawler/warc/warc_reading.h"

namespace trawl::test {

// Where a page was said to be.
struct Appended {
  std::string url;
  WarcLocation place;
};

// Appends a page; none if that failed.
inline Result<Appended> append_page(WarcFiles& files, WarcBuilder& builder, const Page& page) {
  auto place = files.append(builder.build(page.exchange()));
  if (!place) return tl::unexpected(place.error());
  return Appended{page.url, *place};
}

inline void check_index(const std::filesystem::path& warc, const std::vector<ReadRecord>& records) {
  std::string path = warc.string();
  path.replace(path.size() - std::string(".warc.gz").size(), std::string::npos, ".cdxj");
  const std::vector<std::string> lines = lines_of(read_whole(path));
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end())) << path;
  std::map<std::string, nlohmann::json> by_offset;
  for (const std::string& line : lines) {
    const auto json = nlohmann::json::parse(line.substr(line.find(" {") + 1), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << line;
    EXPECT_TRUE(by_offset.emplace(json["offset"], json).second) << "twice: " << line;
  }
  for (const ReadRecord& record : indexed(records)) {
    const auto found = by_offset.extract(std::to_string(record.offset));
    ASSERT_FALSE(found.empty()) << path << ": no line for " << record.field("WARC-Target-URI");
    const nlohmann::json& json = found.mapped();
    EXPECT_EQ(json["length"], std::to_string(record.length));
    EXPECT_EQ(json["url"], record.field("WARC-Target-URI"));
    EXPECT_EQ(json["digest"], record.field("WARC-Payload-Digest"));
    EXPECT_EQ(json["filename"], warc.filename().string());
  }
  EXPECT_TRUE(by_offset.empty()) << path << ": lines without records";
}

// Returns the URLs of all captures.
inline std::vector<std::string> check_closed_files(const std::filesystem::path& directory,
                                                   const std::vector<Appended>& appended,
                                                   bool with_index = true) {
  for (const char* left : {".open", ".tmp", ".runs"})
    EXPECT_TRUE(files_ending(directory, left).empty()) << left;
  std::vector<std::string> urls;
  std::map<std::string, std::string> url_at;  // "file:offset:length"
  const auto files = files_ending(directory, ".warc.gz");
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    const std::vector<ReadRecord> records = read_records(read_whole(file));
    EXPECT_FALSE(indexed(records).empty());
    EXPECT_EQ(records.at(0).field("WARC-Type"), "warcinfo");
    EXPECT_EQ(records.at(0).field("WARC-Filename"), file.filename().string());
    for (const ReadRecord& record : indexed(records)) {
      urls.push_back(record.field("WARC-Target-URI"));
      url_at[file.filename().string() + ":" + std::to_string(record.offset) + ":" +
             std::to_string(record.length)] = urls.back();
    }
    if (with_index) check_index(file, records);
  }
  EXPECT_EQ(files_ending(directory, ".cdxj").size(), with_index ? files.size() : 0);
  for (const Appended& page : appended) {
    EXPECT_EQ(url_at[page.place.file + ":" + std::to_string(page.place.offset) + ":" +
                     std::to_string(page.place.length)],
              page.url);
  }
  return urls;
}

}  // namespace trawl::test
