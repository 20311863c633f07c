// LedgerRecord: what the ledger keeps of an admitted URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

struct LedgerRecord {
  std::uint32_t fetches = 0;  // that ended; 0: it was admitted only
  int status = 0;             // of the last one; 0: there was no response
  std::int64_t fetched = 0;   // when it ended: milliseconds since std::chrono::system_clock's epoch
  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

std::string encode_ledger(const LedgerRecord& record);
std::optional<LedgerRecord> decode_ledger(std::string_view value);

}  // namespace trawl
