#include "crawler/resp/log_frame.h"

#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"

namespace trawl::resp {

namespace {

constexpr std::string_view kMagic = "TRAWLRSL";
constexpr std::uint32_t kFrameMagic = 0x4d524654;  // "TFRM"
constexpr std::string_view kPrefix = "log-";

}  // namespace

std::filesystem::path log_path(const std::filesystem::path& directory, std::uint64_t segment) {
  return directory / fmt::format("{}{:06}", kPrefix, segment);
}

std::optional<std::uint64_t> log_segment_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + 6) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t segment = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), segment);
  if (failure != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return segment;
}

std::string encode_log_header(const LogHeader& header) {
  std::string out(kMagic);
  put_fixed(out, header.version);
  put_fixed(out, std::uint32_t{0});
  put_fixed(out, header.segment);
  put_fixed(out, header.salt);
  put_fixed(out, static_cast<std::uint64_t>(XXH3_64bits(out.data(), out.size())));
  return out;
}

std::optional<LogHeader> decode_log_header(std::string_view bytes) {
  if (bytes.size() < kLogHeaderBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes = bytes.substr(0, kLogHeaderBytes);
  Decoder in(bytes.substr(kMagic.size()));
  LogHeader header;
  header.version = in.fixed<std::uint32_t>();
  in.fixed<std::uint32_t>();
  header.segment = in.fixed<std::uint64_t>();
  header.salt = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != XXH3_64bits(bytes.data(), kLogHeaderBytes - 8))
    return std::nullopt;
  return header;
}

std::uint64_t log_checksum(std::string_view records, std::uint64_t sequence, std::uint64_t salt) {
  return XXH3_64bits_withSeed(records.data(), records.size(), salt ^ sequence);
}

std::string encode_log_frame(const LogFrame& frame, std::uint64_t salt) {
  std::string out;
  put_fixed(out, kFrameMagic);
  put_fixed(out, frame.bytes);
  put_fixed(out, frame.sequence);
  put_fixed(out, frame.checksum);
  put_fixed(out, static_cast<std::uint64_t>(XXH3_64bits_withSeed(out.data(), out.size(), salt)));
  return out;
}

std::optional<LogFrame> decode_log_frame(std::string_view bytes, std::uint64_t salt) {
  if (bytes.size() < kLogFrameBytes) return std::nullopt;
  Decoder in(bytes.substr(0, kLogFrameBytes));
  if (in.fixed<std::uint32_t>() != kFrameMagic) return std::nullopt;
  LogFrame frame;
  frame.bytes = in.fixed<std::uint32_t>();
  frame.sequence = in.fixed<std::uint64_t>();
  frame.checksum = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != XXH3_64bits_withSeed(bytes.data(), kLogFrameBytes - 8, salt))
    return std::nullopt;
  return frame;
}

}  // namespace trawl::resp
