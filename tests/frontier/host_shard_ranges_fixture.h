// Hosts by bucket and number, for tests of shards with ranges of hosts.
#pragma once

#include <cstdint>
#include <string>

#include "frontier/schedule/host_ranges.h"
#include "frontier/store/queued_url.h"

namespace trawl::test {

inline HostId host_in(std::uint64_t bucket, std::uint64_t host) {
  return bucket << 48 | host;
}
inline std::uint64_t bucket_of(HostId host) {
  return host >> 48;
}
inline HostRange range_of(std::uint64_t bucket) {
  return {.first = bucket << 48, .last = (bucket << 48) + ((std::uint64_t{1} << 48) - 1)};
}
// All hosts of a bucket are of one domain. Each bucket has its own sequences.
inline std::string name_in(std::uint64_t bucket, std::uint64_t host) {
  return "h" + std::to_string(host) + ".b" + std::to_string(bucket) + ".test";
}
inline QueuedUrl url_in(std::uint64_t bucket, std::uint64_t host, std::uint64_t sequence) {
  const std::string url = "http://" + name_in(bucket, host) + "/" + std::to_string(sequence);
  return {.host = host_in(bucket, host),
          .order = {.priority = 0, .sequence = sequence},
          .record = encode_record({.url = url})};
}

}  // namespace trawl::test
