#include "crawler/wacz/zip_writer.h"

#include <string>

#include <gtest/gtest.h>
#include <unzip.h>

#include "base/file_io.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

constexpr std::string_view kSha256OfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class ZipWriterTest : public testing::Test {
 protected:
  ZipWriter writer() { return *ZipWriter::open(*OutputFile::create(path())); }
  std::string path() const { return (directory_.path() / "a.zip").string(); }

  // The contents of an entry and how they are stored.
  std::string read(const char* name, unz_file_info64& info) {
    unzFile zip = unzOpen64(path().c_str());
    std::string bytes;
    if (zip == nullptr) return "no ZIP file";
    if (unzLocateFile(zip, name, 1) == UNZ_OK && unzOpenCurrentFile(zip) == UNZ_OK) {
      unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0);
      bytes.resize(info.uncompressed_size);
      unzReadCurrentFile(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
      EXPECT_EQ(unzCloseCurrentFile(zip), UNZ_OK) << "CRC of " << name;
    }
    unzClose(zip);
    return bytes;
  }

 private:
  const test::TemporaryDirectory directory_;
};

TEST_F(ZipWriterTest, EntriesWithTheirDigests) {
  ZipWriter zip = writer();
  const auto abc = zip.add("b/abc", ZipWriter::Method::kStored, "abc");
  ASSERT_TRUE(abc);
  EXPECT_EQ(abc->sha256, kSha256OfAbc);
  EXPECT_EQ(abc->bytes, 3u);
  EXPECT_EQ(abc->name, "b/abc");
  ASSERT_TRUE(zip.begin("deflated", ZipWriter::Method::kDeflated, 3'000'000));
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(zip.write(std::string(3000, static_cast<char>('a' + i % 7))));
  ASSERT_TRUE(zip.end());
  const auto bytes = zip.finish();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, read_file(path(), 1u << 20)->size());
  EXPECT_LT(*bytes, 100'000u);
  unz_file_info64 info{};
  EXPECT_EQ(read("b/abc", info), "abc");
  EXPECT_EQ(info.compression_method, 0u);
  EXPECT_EQ(read("deflated", info).size(), 3'000'000u);
  EXPECT_EQ(info.compression_method, 8u);
}

TEST_F(ZipWriterTest, Zip64ByTheBoundOfTheSize) {
  ZipWriter zip = writer();
  for (const bool large : {false, true}) {
    ASSERT_TRUE(
        zip.begin(large ? "large" : "small", ZipWriter::Method::kStored, large ? 1ull << 40 : 3));
    ASSERT_TRUE(zip.write("abc"));
    ASSERT_TRUE(zip.end());
  }
  ASSERT_TRUE(zip.finish());
  unz_file_info64 info{};
  EXPECT_EQ(read("small", info), "abc");
  EXPECT_EQ(read("large", info), "abc");
}

TEST_F(ZipWriterTest, AFullDiskIsReportedAsSuch) {
  auto zip = ZipWriter::open(*OutputFile::create("/dev/full"));
  ASSERT_TRUE(zip);
  const auto entry =
      zip->add("a", ZipWriter::Method::kStored, std::string(3u << 20, 'x')).map([](const auto&) {});
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, ErrorCode::kNoSpace);
}

TEST_F(ZipWriterTest, GivenUpInTheMiddle) {
  ZipWriter zip = writer();
  ASSERT_TRUE(zip.begin("a", ZipWriter::Method::kDeflated, 3));
  ASSERT_TRUE(zip.write("abc"));
}

}  // namespace
}  // namespace trawl
