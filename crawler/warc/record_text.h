// The parts of WARC records: named fields, identifiers, dates.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/one_thread.h"

namespace trawl {

// Appends "Name: value\r\n". Control characters become spaces: no value can begin another field.
void append_field(std::string& out, std::string_view name, std::string_view value);
// The same for values of visible ASCII. Other bytes are omitted, and so is the field if nothing is
// left.
void append_ascii_field(std::string& out, std::string_view name, std::string_view value);

// A URL as written to records: without its fragment, and escaped where it is not a valid URL.
std::string record_url(std::string_view url);

// "<urn:uuid:...>", random ones. Not thread-safe.
class RecordIdGenerator {
 public:
  RecordIdGenerator();
  std::string next();

 private:
  std::mt19937_64 random_;
  OneAtATime using_;
};

// Appends a whole record: "WARC/1.1", `fields`, the length of the block, the block.
void append_record(std::string& out, std::string_view fields, std::string_view block,
                   std::string_view rest_of_block = {});

// "20261121203109", as indexes have it, of "2026-11-21T20:31:09.123456Z".
std::string cdxj_timestamp(std::string_view warc_date);

}  // namespace trawl
