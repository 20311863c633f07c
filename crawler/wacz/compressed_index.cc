#include "crawler/wacz/compressed_index.h"

#include <fmt/format.h>

namespace trawl {

namespace {

constexpr int kLevel = 6;

// Key and timestamp of a line.
std::string_view key_of(std::string_view line) {
  return line.substr(0, line.find(" {"));
}

}  // namespace

CompressedIndex::CompressedIndex(ZipWriter& zip)
    : zip_(zip),
      compressor_(kLevel),
      directory_(fmt::format("!meta 0 {{\"format\": \"cdxj-gzip-1.0\", \"filename\": \"{}\"}}\n",
                             kName)) {}

Result<void> CompressedIndex::add(std::string_view line) {
  member_.append(line).append("\n");
  ++lines_;
  return ++in_member_ < kLines ? Result<void>() : write_member();
}

Result<void> CompressedIndex::finish() {
  return in_member_ == 0 && lines_ > 0 ? Result<void>() : write_member();
}

Result<void> CompressedIndex::write_member() {
  compressed_.clear();
  const std::uint64_t length = compressor_.append_member(member_, compressed_);
  if (in_member_ > 0) {
    directory_ += fmt::format("{} {{\"offset\": {}, \"length\": {}, \"filename\": \"{}\"}}\n",
                              key_of(member_), offset_, length, kName);
  }
  offset_ += length;
  member_.clear();
  in_member_ = 0;
  return zip_.write(compressed_);
}

}  // namespace trawl
