// Records of a WARC file, read back: what repairs need to know of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crawler/warc/gzip_member.h"

namespace trawl {

struct RecordFacts {
  std::string type;       // "response", ...
  std::string url;        // WARC-Target-URI
  std::string date;       // WARC-Date
  std::string digest;     // WARC-Payload-Digest
  std::size_t block = 0;  // where in GzipMember::start its block begins
};

// What the member holds, if it is one whole record and no more.
std::optional<RecordFacts> record_facts(const GzipMember& member);

// Its line in an index without the end, as WarcBuilder makes it; empty: it has none.
std::string cdxj_start_of(const RecordFacts& facts, const GzipMember& member);

}  // namespace trawl
