// The file of ExactKeys: a header and the sorted fingerprints. docs/formats.md specifies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "filter/snapshot/snapshot_format.h"

namespace trawl {

inline constexpr std::uint32_t kExactVersion = 1;
inline constexpr std::size_t kExactHeaderBytes = 64;
inline constexpr std::size_t kExactKeyBytes = 16;
static_assert(sizeof(Fingerprint) == kExactKeyBytes);

struct ExactHeader {
  KeyedHash::Key hash_key = {};
  std::uint64_t keys = 0;
  std::uint64_t filter = 0;    // identity_of() the filter's file
  std::uint64_t checksum = 0;  // XXH3 of all keys
};

// The path of the keys of a filter's file.
std::string exact_keys_path(const std::string& filter);
// The path of the keys until their filter has replaced the previous one.
std::string coming_exact_keys_path(const std::string& filter);
// Whether the path is a file of such keys, of any version.
bool is_exact_keys_file(const std::string& path);

std::string encode_exact_header(const ExactHeader& header);
// Decodes the header of a file of `bytes` bytes. Errors: kCorrupt, kUnsupportedVersion.
Result<ExactHeader> decode_exact_header(std::string_view header, std::uint64_t bytes,
                                        const std::string& path);

}  // namespace trawl
