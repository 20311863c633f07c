#include "crawler/resp/log_record.h"

#include <algorithm>
#include <cstddef>

namespace trawl::resp {

namespace {

void begin_record(std::string& out, LogRecord::Kind kind, std::uint64_t filter) {
  out.push_back(static_cast<char>(kind));
  put_varint(out, filter);
}

}  // namespace

void put_plan(std::string& out, const FilterPlan& plan) {
  put_string(out, plan.name);
  out.push_back(static_cast<char>(plan.kind));
  put_varint(out, plan.capacity);
  put_fixed(out, plan.rate);
  out.push_back(plan.grows ? 1 : 0);
  out.append(reinterpret_cast<const char*>(plan.hash_key.data()), plan.hash_key.size());
}

FilterPlan take_plan(Decoder& in) {
  FilterPlan plan;
  plan.name = std::string(in.string());
  const auto kind = in.fixed<std::uint8_t>();
  plan.kind = static_cast<ServedKind>(kind);
  plan.capacity = in.varint();
  plan.rate = in.fixed<double>();
  const auto grows = in.fixed<std::uint8_t>();
  plan.grows = grows != 0;
  for (auto& byte : plan.hash_key)
    byte = in.fixed<std::uint8_t>();
  const bool possible =
      kind >= 1 && kind <= 3 && plan.capacity > 0 && plan.rate > 0 && plan.rate < 1 && grows <= 1;
  if (!possible) in = Decoder({}), in.fixed<std::uint8_t>();
  return plan;
}

void put_create(std::string& out, std::uint64_t filter, const FilterPlan& plan) {
  begin_record(out, LogRecord::Kind::kCreate, filter);
  put_plan(out, plan);
}

void put_drop(std::string& out, std::uint64_t filter) {
  begin_record(out, LogRecord::Kind::kDrop, filter);
}

void put_keys(std::string& out, LogRecord::Kind kind, std::uint64_t filter,
              std::span<const Fingerprint> keys) {
  begin_record(out, kind, filter);
  put_varint(out, keys.size());
  // In memory they are as they are stored: little-endian, `high` first.
  static_assert(sizeof(Fingerprint) == 16 && offsetof(Fingerprint, high) == 0);
  out.append(reinterpret_cast<const char*>(keys.data()), keys.size_bytes());
}

bool take_record(Decoder& in, LogRecord& record) {
  const auto kind = in.fixed<std::uint8_t>();
  record.kind = static_cast<LogRecord::Kind>(kind);
  record.filter = in.varint();
  record.keys.clear();
  switch (record.kind) {
    case LogRecord::Kind::kCreate:
      record.plan = take_plan(in);
      return in.ok();
    case LogRecord::Kind::kDrop:
      return in.ok();
    case LogRecord::Kind::kAdd:
    case LogRecord::Kind::kErase:
    case LogRecord::Kind::kKnown:
      break;
    default:
      return false;
  }
  const std::uint64_t keys = in.varint();
  if (!in.ok() || keys > in.rest().size() / sizeof(Fingerprint)) return false;
  record.keys.reserve(keys);
  for (std::uint64_t i = 0; i < keys; ++i) {
    const auto high = in.fixed<std::uint64_t>();
    record.keys.push_back({high, in.fixed<std::uint64_t>()});
  }
  return in.ok();
}

}  // namespace trawl::resp
