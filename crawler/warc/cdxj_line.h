// The lines of CDXJ indexes: "KEY TIMESTAMP {json}".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

// The fields of a record's line. Empty ones are left out.
struct CdxjLine {
  std::string_view url;
  std::string_view date;  // the record's WARC-Date
  std::string_view mime;  // "warc/revisit" of revisits
  std::string_view status;
  std::string_view digest;  // of the payload
};

// The line up to where the record lies.
std::string cdxj_start(const CdxjLine& facts);
// The rest of it, with its newline.
std::string cdxj_end(std::uint64_t length, std::uint64_t offset, std::string_view file);

// What a line says of a record; what it lacks is empty. Of any program's index.
struct CdxjRecord {
  std::string url;
  std::string date;  // as a WARC-Date, without parts of a second
  std::string mime;
  std::string status;
  std::string digest;
};
// None if the line is damaged.
std::optional<CdxjRecord> read_cdxj_line(std::string_view line);

struct CdxjLocation {
  std::uint64_t length = 0;
  std::uint64_t offset = 0;
};
// Where the record of a line lies; none if the line is damaged.
std::optional<CdxjLocation> cdxj_location(std::string_view line);

}  // namespace trawl
