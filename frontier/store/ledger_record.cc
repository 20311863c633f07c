#include "frontier/store/ledger_record.h"

#include <limits>

#include "base/coding.h"

namespace trawl {

// Most admitted URLs were fetched once or never, so most records take 1 or 11 bytes.
std::string encode_ledger(const LedgerRecord& record) {
  std::string value;
  put_varint(value, record.fetches);
  if (record == LedgerRecord{.fetches = record.fetches}) return value;
  put_fixed(value, record.fetched);
  put_varint(value, static_cast<std::uint32_t>(record.status));
  return value;
}

std::optional<LedgerRecord> decode_ledger(std::string_view value) {
  Decoder in(value);
  const std::uint64_t fetches = in.varint();
  if (!in.ok() || fetches > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  LedgerRecord record{.fetches = static_cast<std::uint32_t>(fetches)};
  if (in.done()) return record;
  record.fetched = in.fixed<std::int64_t>();
  const std::uint64_t status = in.varint();
  if (!in.done() || status > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  record.status = static_cast<int>(static_cast<std::uint32_t>(status));
  return record;
}

}  // namespace trawl
