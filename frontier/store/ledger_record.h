// LedgerRecord: the ledger's record of an admitted URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

struct LedgerRecord {
  std::uint32_t fetches = 0;  // completed fetches; 0: only admitted
  int status = 0;             // of the last fetch; 0: no response
  std::int64_t fetched = 0;   // when the last fetch ended: ms since system_clock's epoch
  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

std::string encode_ledger(const LedgerRecord& record);
std::optional<LedgerRecord> decode_ledger(std::string_view value);

}  // namespace trawl
