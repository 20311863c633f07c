// CrashHistory: which URLs a crawl crashes on, by what was in flight when it crashed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/crash/in_flight_file.h"

namespace trawl {

// Of the crawl's runs so far. Two crashes are in a row if no run between them ended in order; a run
// that was killed says nothing, and is as if it had not been.
class CrashHistory {
 public:
  // A run ended so. One that is given a second time changes nothing. Returns whether it changed.
  bool add(const InFlightRecord& run);
  // The run before ended in order: what follows is a first crash again. `fetched` are no suspects
  // any more. Returns whether anything changed.
  bool end_in_order(const std::vector<InFlightUrl>& fetched);
  // A cause was set aside as failed: if it is asked for again, it begins anew.
  void forget(const InFlightUrl& url);

  bool suspects(const InFlightUrl& url) const;
  // The crawl crashed with it alone in flight: to be set aside.
  bool is_cause(const InFlightUrl& url) const;

  // In flight at two crashes in a row, not known to be harmless since.
  const std::vector<InFlightUrl>& suspects() const { return suspects_; }
  // In flight alone at a third crash.
  const std::vector<InFlightUrl>& crashed() const { return crashed_; }
  std::uint32_t crashes_in_a_row() const { return in_a_row_; }
  bool empty() const { return in_a_row_ == 0 && suspects_.empty() && crashed_.empty(); }

  // The form it is kept in, see docs/formats.md. decode() names no file. Errors: kCorrupt,
  // kUnsupportedVersion.
  std::string encode() const;
  static Result<CrashHistory> decode(std::string_view bytes);

 private:
  std::uint64_t last_run_ = 0;  // the last that was added
  std::uint32_t in_a_row_ = 0;
  std::vector<InFlightUrl> last_;  // in flight at the last crash
  std::vector<InFlightUrl> suspects_;
  std::vector<InFlightUrl> crashed_;
};

}  // namespace trawl
