// Hosts by bucket and number, for tests of shards with ranges of hosts.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "frontier/schedule/host_ranges.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store.h"
#include "tests/frontier/fake_store.h"

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

// A store of which a part does not answer.
class StoreInParts final : public ShardReads {
 public:
  explicit StoreInParts(const FakeStore& store) : store_(store) {}
  Result<void> read_queues(std::span<QueueRead> reads) const override {
    return store_.read_queues(reads);
  }
  Result<void> read_queues_at_once(std::span<QueueRead> reads) const override {
    for (QueueRead& read : reads) {
      read.away = away.contains(bucket_of(read.host));
      if (read.away) {
        ++asked_in_vain;
      } else if (auto done = store_.read_queues(std::span(&read, 1)); !done) {
        return done;
      }
    }
    return {};
  }
  Result<void> read_hosts(std::span<HostRead> reads) const override {
    return store_.read_hosts(reads);
  }

  std::set<std::uint64_t> away;  // buckets
  mutable int asked_in_vain = 0;

 private:
  const FakeStore& store_;
};

}  // namespace trawl::test
