#include "filter/exact/exact_keys_format.h"

#include <array>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"
#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLKEY";
constexpr std::size_t kChecksummed = kExactHeaderBytes - sizeof(std::uint64_t);

std::uint64_t checksum_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::string exact_keys_path(const std::string& filter) {
  return filter + ".keys";
}

std::string coming_exact_keys_path(const std::string& filter) {
  return exact_keys_path(filter) + ".new";
}

bool is_exact_keys_file(const std::string& path) {
  const auto file = InputFile::open(path);
  if (!file) return false;
  std::array<char, kMagic.size()> bytes;
  const auto read = file->read_at(bytes.data(), bytes.size(), 0);
  return read && std::string_view(bytes.data(), *read) == kMagic;
}

std::string encode_exact_header(const ExactHeader& header) {
  std::string bytes(kMagic);
  put_fixed(bytes, kExactVersion);
  put_fixed(bytes, std::uint32_t{0});
  bytes.append(reinterpret_cast<const char*>(header.hash_key.data()), sizeof header.hash_key);
  put_fixed(bytes, header.keys);
  put_fixed(bytes, header.filter);
  put_fixed(bytes, header.checksum);
  put_fixed(bytes, checksum_of(bytes));
  return bytes;
}

Result<ExactHeader> decode_exact_header(std::string_view header, std::uint64_t bytes,
                                        const std::string& path) {
  if (header.size() < kExactHeaderBytes || !header.starts_with(kMagic))
    return damaged_snapshot(path, "it is not a file of a filter's keys");
  Decoder in(header.substr(kMagic.size()));
  const auto version = in.fixed<std::uint32_t>();
  const auto reserved = in.fixed<std::uint32_t>();
  ExactHeader found;
  for (std::uint8_t& byte : found.hash_key)
    byte = in.fixed<std::uint8_t>();
  found.keys = in.fixed<std::uint64_t>();
  found.filter = in.fixed<std::uint64_t>();
  found.checksum = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != checksum_of(header.substr(0, kChecksummed)))
    return damaged_snapshot(path, "the checksum of its header is wrong");
  if (version != kExactVersion) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format(
            "{} has format version {}, and this version of Trawl reads {}: build the filter "
            "again with --exact, or use the version of Trawl that made it",
            path, version, kExactVersion));
  }
  if (reserved != 0 || (bytes - kExactHeaderBytes) / kExactKeyBytes != found.keys ||
      (bytes - kExactHeaderBytes) % kExactKeyBytes != 0) {
    return damaged_snapshot(path, "its size does not match the number of keys in its header");
  }
  return found;
}

}  // namespace trawl
