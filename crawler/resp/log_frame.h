// LogFrame: the parts of a log file, docs/formats.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace trawl::resp {

inline constexpr std::uint32_t kLogVersion = 1;
inline constexpr std::size_t kLogHeaderBytes = 40;
inline constexpr std::size_t kLogFrameBytes = 32;
inline constexpr std::uint64_t kMostFrameBytes = std::uint64_t{1} << 30;

// The head of a frame, whose records follow. One without records says that what is before it was
// synced: it is written after the sync, and not synced itself.
struct LogFrame {
  std::uint32_t bytes = 0;     // of the records
  std::uint64_t sequence = 0;  // of the first record
  std::uint64_t checksum = 0;  // of the records
};

struct LogHeader {
  std::uint32_t version = kLogVersion;
  std::uint64_t segment = 0;
  std::uint64_t salt = 0;  // random, so that no key or name can look like a frame
};

// "log-000012"
std::filesystem::path log_path(const std::filesystem::path& directory, std::uint64_t segment);
// The number in such a name.
std::optional<std::uint64_t> log_segment_of(std::string_view name);

std::string encode_log_header(const LogHeader& header);
// Nothing if the bytes are not one; `version` of one with a newer version.
std::optional<LogHeader> decode_log_header(std::string_view bytes);

std::uint64_t log_checksum(std::string_view records, std::uint64_t sequence, std::uint64_t salt);
std::string encode_log_frame(const LogFrame& frame, std::uint64_t salt);
std::optional<LogFrame> decode_log_frame(std::string_view bytes, std::uint64_t salt);

}  // namespace trawl::resp
