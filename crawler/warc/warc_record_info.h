// Reads the records of a WARC file, as far as repairs need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crawler/warc/gzip_member.h"

namespace trawl {

struct WarcRecordInfo {
  std::string type;    // "response", ...
  std::string url;     // WARC-Target-URI
  std::string date;    // WARC-Date
  std::string digest;  // WARC-Payload-Digest
  std::string content_type;
  std::size_t block = 0;  // where in GzipMember::start its block begins
};

// The facts of the record in `member`; none unless the member is exactly one complete record.
std::optional<WarcRecordInfo> read_record_info(const GzipMember& member);

// The first part of its index line, as WarcBuilder makes it; empty: it is not indexed.
std::string cdxj_start_of(const WarcRecordInfo& facts, const GzipMember& member);

}  // namespace trawl
