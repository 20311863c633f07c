// BucketBatch: the changes of a bucket that Redis applies together, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/fingerprint.h"

#include "frontier/store/host_record.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// What a crawler that does not own a bucket has for its owner: links that it found, or a command.
struct InboxMessage {
  MessageId id{};
  std::string body;
};

// The totals of a bucket, as in its key `m`.
struct BucketMeta {
  std::uint64_t version = 0;        // number of the last batch
  std::string counters;             // encode_counters(); empty before the first batch
  std::uint64_t next_sequence = 0;  // QueueOrder::sequence
  std::uint64_t open = 0;           // URLs queued or deferred
  std::uint64_t segment = 0;        // the newest key of fingerprints
};

// URLs of a host that were admitted while they were counted, and its name.
struct AdmittedOfHost {
  std::string name;
  std::uint64_t urls = 0;
  friend bool operator==(const AdmittedOfHost&, const AdmittedOfHost&) = default;
};

// A host of a bucket: its record, and the priorities for which it has a queue. Its value begins
// with twice the number of priorities, and 1 more if a count follows them.
struct BucketHost {
  HostRecord record;
  std::vector<std::int32_t> priorities;
  std::optional<AdmittedOfHost> admitted = std::nullopt;
  friend bool operator==(const BucketHost&, const BucketHost&) = default;
};
std::string encode_bucket_host(const BucketHost& host);
std::optional<BucketHost> decode_bucket_host(std::string_view value);

// An element of a queue is the sequence, big-endian, and the record; the order of the list is that
// of the sequences.
std::string encode_queued(std::uint64_t sequence, std::string_view record);
std::string encode_sequence(std::uint64_t sequence);
std::optional<std::pair<std::uint64_t, std::string_view>> decode_queued(std::string_view element);

// A member of the deferred URLs; its time is the score.
std::string encode_bucket_deferred(const DeferredUrl& url);
std::optional<DeferredUrl> decode_bucket_deferred(std::string_view member, std::int64_t score);

// A smaller depth that was noted for a URL is next to the URLs set aside. Its field is the whole
// fingerprint, and theirs the lower half; its value is a decimal number.
std::string encode_depth_field(Fingerprint fingerprint);
std::optional<std::pair<Fingerprint, std::uint32_t>> decode_noted_depth(std::string_view field,
                                                                        std::string_view value);

struct BucketBatch {
  struct Queue {
    HostId host = 0;
    std::int32_t priority = 0;
    // Sequences; quickest in the order of the queue.
    std::vector<std::uint64_t> ended = {};
    std::vector<std::string> added = {};  // encode_queued(), in order
  };

  std::vector<std::uint64_t> admitted;  // fingerprints
  std::vector<MessageId> taken;         // in the order in which they were read
  std::vector<MessageId> commands_taken;
  std::vector<std::pair<HostId, std::optional<BucketHost>>> hosts;  // without a value: removed
  std::vector<DeferredUrl> deferred;
  std::vector<DeferredUrl> no_longer_deferred;
  // Held and failed URLs by fingerprint; without a value: removed.
  std::vector<std::pair<std::uint64_t, std::optional<std::string>>> set_aside;
  // The smaller depths noted for waiting URLs; without a value: removed.
  std::vector<std::pair<Fingerprint, std::optional<std::uint32_t>>> depths;
  std::vector<Queue> queues;  // each once
  BucketMeta meta;            // afterwards, without the version
};

}  // namespace trawl
