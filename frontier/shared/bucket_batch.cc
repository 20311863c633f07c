#include "frontier/shared/bucket_batch.h"

#include <bit>
#include <limits>

#include "base/big_endian.h"
#include "base/coding.h"
#include "frontier/shared/redis_values.h"

namespace trawl {
namespace {

void put_big_endian(std::string& out, std::uint64_t value) {
  std::array<char, 8> bytes;
  store_big_endian(bytes.data(), value);
  out.append(bytes.data(), bytes.size());
}

}  // namespace

std::string encode_bucket_host(const BucketHost& host) {
  std::string out;
  put_varint(out, 2 * host.priorities.size() + (host.admitted ? 1 : 0));
  for (const std::int32_t priority : host.priorities)
    put_fixed(out, priority);
  if (host.admitted) {
    put_varint(out, host.admitted->urls);
    put_string(out, host.admitted->name);
  }
  out += encode_host(host.record);
  return out;
}

std::optional<BucketHost> decode_bucket_host(std::string_view value) {
  BucketHost host;
  Decoder decoder(value);
  const std::uint64_t parts = decoder.varint();
  const std::uint64_t count = parts / 2;
  if (!decoder.ok() || count > decoder.rest().size() / sizeof(std::int32_t)) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i)
    host.priorities.push_back(decoder.fixed<std::int32_t>());
  if (parts % 2 == 1) {
    host.admitted.emplace();
    host.admitted->urls = decoder.varint();
    host.admitted->name = decoder.string();
    if (!decoder.ok()) return std::nullopt;
  }
  auto record = decode_host(decoder.rest());
  if (!record) return std::nullopt;
  host.record = std::move(*record);
  return host;
}

std::string encode_sequence(std::uint64_t sequence) {
  std::string out;
  put_big_endian(out, sequence);
  return out;
}

std::string encode_queued(std::uint64_t sequence, std::string_view record) {
  return encode_sequence(sequence).append(record);
}

std::optional<std::pair<std::uint64_t, std::string_view>> decode_queued(std::string_view element) {
  if (element.size() < 8) return std::nullopt;
  const std::string_view record = element.substr(8);
  if (!decode_record(record)) return std::nullopt;
  return std::pair(load_big_endian<std::uint64_t>(element), record);
}

std::string encode_bucket_deferred(const DeferredUrl& url) {
  std::string out = encode_sequence(url.sequence);
  put_big_endian(out, url.host);
  put_fixed(out, url.priority);
  return out.append(url.record);
}

std::optional<DeferredUrl> decode_bucket_deferred(std::string_view member, std::int64_t score) {
  constexpr std::size_t kHead = 8 + 8 + 4;
  if (member.size() < kHead || !decode_record(member.substr(kHead))) return std::nullopt;
  Decoder priority(member.substr(16, 4));
  return DeferredUrl{.not_before = score,
                     .sequence = load_big_endian<std::uint64_t>(member),
                     .host = load_big_endian<std::uint64_t>(member.substr(8)),
                     .priority = priority.fixed<std::int32_t>(),
                     .record = std::string(member.substr(kHead))};
}

std::string encode_depth_field(Fingerprint fingerprint) {
  return encode_sequence(fingerprint.high).append(encode_sequence(fingerprint.low));
}

std::optional<std::pair<Fingerprint, std::uint32_t>> decode_noted_depth(std::string_view field,
                                                                        std::string_view value) {
  const auto depth = number_in(value);
  if (field.size() != 16 || !depth || *depth > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return std::pair(Fingerprint{.high = load_big_endian<std::uint64_t>(field),
                               .low = load_big_endian<std::uint64_t>(field.substr(8))},
                   static_cast<std::uint32_t>(*depth));
}

}  // namespace trawl
