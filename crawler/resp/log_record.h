// LogRecord: a change of the filters, as the log stores it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/coding.h"

namespace trawl::resp {

// The values are part of the file formats.
enum class ServedKind : std::uint8_t { kGrowing = 1, kFixed = 2, kCuckoo = 3 };

// How a filter was made.
struct FilterPlan {
  std::string name;
  ServedKind kind = ServedKind::kGrowing;
  std::uint64_t capacity = 100;
  double rate = 0.01;
  bool grows = true;  // of a cuckoo filter: by further filters
  KeyedHash::Key hash_key = {};
};

void put_plan(std::string& out, const FilterPlan& plan);
// Anything that cannot be a plan makes `in` not ok.
FilterPlan take_plan(Decoder& in);

struct LogRecord {
  // kKnown: keys that were answered as known. One that was not, a false positive, is not known to a
  // filter whose layers came out differently, as they can in a replay: there it is added.
  enum class Kind : std::uint8_t { kCreate = 1, kDrop = 2, kAdd = 3, kErase = 4, kKnown = 5 };
  Kind kind = Kind::kAdd;
  std::uint64_t filter = 0;  // its number
  FilterPlan plan;           // of kCreate
  std::vector<Fingerprint> keys;
};

void put_create(std::string& out, std::uint64_t filter, const FilterPlan& plan);
void put_drop(std::string& out, std::uint64_t filter);
// `kind` is kAdd, kErase or kKnown.
void put_keys(std::string& out, LogRecord::Kind kind, std::uint64_t filter,
              std::span<const Fingerprint> keys);
// Reads the next record. Returns false if the bytes are not one.
bool take_record(Decoder& in, LogRecord& record);

}  // namespace trawl::resp
