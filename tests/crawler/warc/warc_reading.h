// Reads WARC files for tests, with zlib and OpenSSL and nothing of Trawl's: what it accepts, others
// read too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <zlib.h>

namespace trawl::test {

struct ReadRecord {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // of the gzip member
  std::map<std::string, std::string> fields = {};
  std::string block = {};

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
  // Of HTTP messages.
  std::string head() const { return block.substr(0, block.find("\r\n\r\n") + 4); }
  std::string payload() const { return block.substr(block.find("\r\n\r\n") + 4); }
};

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  ASSERT_TRUE(out) << path;
}

inline std::string independent_sha1(std::string_view bytes) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string bits;
  for (const unsigned char byte : digest) {
    for (int bit = 7; bit >= 0; --bit)
      bits += (byte >> bit & 1) != 0 ? '1' : '0';
  }
  std::string text = "sha1:";
  for (std::size_t i = 0; i < bits.size(); i += 5)
    text += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[std::stoi(bits.substr(i, 5), nullptr, 2)];
  return text;
}

// The text of the member at the start of `bytes`; sets its length, 0 if it is incomplete.
inline std::string inflate_member(std::string_view bytes, std::uint64_t& length) {
  z_stream stream{};
  inflateInit2(&stream, 31);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char block[65536];
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
  }
  length = status == Z_STREAM_END ? stream.total_in : 0;
  inflateEnd(&stream);
  return text;
}

// Fails the test unless `text` is one record by the letter of WARC 1.1, with the right digests.
inline ReadRecord parse_record(const std::string& text) {
  ReadRecord record;
  const std::size_t end = text.find("\r\n\r\n");
  EXPECT_TRUE(text.starts_with("WARC/1.1\r\n")) << text.substr(0, 100);
  EXPECT_NE(end, std::string::npos);
  if (end == std::string::npos) return record;
  std::size_t at = text.find("\r\n") + 2;
  while (at < end) {
    const std::size_t line_end = text.find("\r\n", at);
    const std::string line = text.substr(at, line_end - at);
    const std::size_t colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << line;
    EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos) << line;
    EXPECT_TRUE(record.fields.emplace(line.substr(0, colon), line.substr(colon + 2)).second)
        << "twice: " << line;
    at = line_end + 2;
  }
  const std::size_t size = std::stoull("0" + record.field("Content-Length"));
  EXPECT_EQ(text.size(), end + 4 + size + 4);
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
  record.block = text.substr(end + 4, size);
  for (const char* needed : {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Type"})
    EXPECT_FALSE(record.field(needed).empty()) << needed;
  EXPECT_EQ(record.field("WARC-Block-Digest"), independent_sha1(record.block));
  if (record.field("WARC-Type") == "response") {
    EXPECT_EQ(record.field("WARC-Payload-Digest"), independent_sha1(record.payload()));
  }
  return record;
}

// All records of a file; fails the test if one is not whole.
inline std::vector<ReadRecord> read_records(const std::string& bytes) {
  std::vector<ReadRecord> records;
  for (std::uint64_t offset = 0; offset < bytes.size();) {
    std::uint64_t length = 0;
    const std::string text = inflate_member(std::string_view(bytes).substr(offset), length);
    EXPECT_GT(length, 0u) << "no whole member at " << offset << " of " << bytes.size();
    if (length == 0) break;
    records.push_back(parse_record(text));
    records.back().offset = offset;
    records.back().length = length;
    offset += length;
  }
  return records;
}

// The records that indexes list.
inline std::vector<ReadRecord> indexed(const std::vector<ReadRecord>& records) {
  std::vector<ReadRecord> kept;
  std::copy_if(records.begin(), records.end(), std::back_inserter(kept), [](const auto& record) {
    const std::string type = record.field("WARC-Type");
    return type == "response" || type == "revisit" || type == "resource";
  });
  return kept;
}

// The files of a directory whose names end so, sorted.
inline std::vector<std::filesystem::path> files_ending(const std::filesystem::path& directory,
                                                       const std::string& ending) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "the last line has no end";
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

}  // namespace trawl::test
