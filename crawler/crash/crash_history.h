// CrashHistory: deduces which URLs crash a crawl from the URLs in flight at each crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/crash/in_flight_file.h"

namespace trawl {

// The history of the crawl's runs. Two crashes are in a row if no run between them ended in order;
// runs that were killed are ignored.
class CrashHistory {
 public:
  // Adds how a run ended. Adding the same run again changes nothing. Returns whether anything
  // changed.
  bool add(const InFlightRecord& run);
  // The last run ended in order: the next crash is a first one again. `fetched`: URLs that are no
  // longer suspects. Returns whether anything changed.
  bool end_in_order(const std::vector<InFlightUrl>& fetched);
  // Forgets a cause that was set aside as failed, so that a retry starts without history.
  void forget(const InFlightUrl& url);

  bool suspects(const InFlightUrl& url) const;
  // The crawl crashed with only this URL in flight: it is to be set aside.
  bool is_cause(const InFlightUrl& url) const;

  // URLs in flight at two crashes in a row, and not found harmless since.
  const std::vector<InFlightUrl>& suspects() const { return suspects_; }
  // URLs that were alone in flight at a third crash.
  const std::vector<InFlightUrl>& crashed() const { return crashed_; }
  std::uint32_t crashes_in_a_row() const { return in_a_row_; }
  bool empty() const { return in_a_row_ == 0 && suspects_.empty() && crashed_.empty(); }

  // The file format, see docs/formats.md. The errors of decode(), kCorrupt and kUnsupportedVersion,
  // do not name the file.
  std::string encode() const;
  static Result<CrashHistory> decode(std::string_view bytes);

 private:
  std::uint64_t last_run_ = 0;  // the run added last
  std::uint32_t in_a_row_ = 0;
  std::vector<InFlightUrl> last_;  // in flight at the last crash
  std::vector<InFlightUrl> suspects_;
  std::vector<InFlightUrl> crashed_;
};

}  // namespace trawl
