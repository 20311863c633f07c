// BucketStore: the buckets of a crawl in Redis.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/redis/redis_command.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_scripts.h"
#include "frontier/shared/member_table.h"
#include "frontier/store/counters.h"

namespace trawl {

// Calls on several buckets go to all nodes at once, in one pipeline each. Values are checked when
// read: kCorrupt names the key of a damaged one, and says so too of a key that has another type,
// which another program's data would have. Not thread-safe.
class BucketStore {
 public:
  // Who owns a bucket. A crawler may claim a bucket that it has seen unchanged for the time of a
  // lease, or without a token.
  struct Owner {
    std::string token;    // empty: none
    std::string renewal;  // of the last claim or renewal
    // Of the last batch; with `exists`, for owners that look whether the node lost its data.
    std::uint64_t version = 0;
    bool exists = false;
    bool operator==(const Owner&) const = default;
  };

  // What everybody can read of a bucket.
  struct State {
    bool exists = false;  // somebody has claimed it, or had
    std::string token = {};
    std::uint64_t version = 0;
    std::uint64_t open = 0;  // URLs queued or deferred
    Counters counters = {};
    std::uint64_t messages = 0;  // that wait for its owner
    std::uint64_t commands = 0;
    // A key of it is damaged, or another program's: then nothing else is known.
    std::optional<Error> damage = {};
  };

  // How a write ended.
  struct Written {
    enum class Code : std::uint8_t {
      kDone,
      kFenced,   // another crawler owns the bucket; nothing was written
      kBehind,   // the bucket lacks batches after `version`: a failover took them back
      kFull,     // Redis has no memory for it; nothing was written
      kUnknown,  // it may have been written, or a failover may take it back: see `error`
      kFailed,   // see `error`
    };
    Code code = Code::kUnknown;
    std::uint64_t version = 0;        // of kDone and kBehind
    std::uint64_t missing = 0;        // URLs that ended and were not in their queue
    std::optional<Error> error = {};  // of kFull, kUnknown and kFailed
  };

  struct Claim {
    BucketId bucket = 0;
    Owner seen = {};
    std::string token = {};  // never used before
  };
  struct Claimed {
    Written result;
    BucketMeta meta;  // if kDone
  };
  struct Renewal {
    BucketId bucket = 0;
    std::string token;
    std::string name;  // never used before: a renewal without an answer is not repeated
  };
  struct Release {
    BucketId bucket = 0;
    std::string token;
  };
  struct Push {
    BucketId bucket = 0;
    std::vector<InboxMessage> messages;
  };

  struct Command {
    BucketId bucket = 0;
    InboxMessage message;  // its body is an encode_owner_command() of owner_command.h
  };
  // What waits in Redis for the owner of a bucket.
  struct Waiting {
    BucketId bucket = 0;
    std::size_t messages = 0;  // how many at most; 0: they are not read
    std::size_t commands = 0;
    // The elements as they are: an id, then a body, unless they are damaged.
    Result<std::vector<std::string>> messages_read = {};
    Result<std::vector<std::string>> commands_read = {};
  };
  struct Damaged {
    BucketId bucket = 0;
    bool is_command = false;
    std::string element;
  };
  struct QueueName {
    HostId host = 0;
    std::int32_t priority = 0;
  };
  // URLs of a queue from the position `from` on, at most `limit`, which is not 0.
  struct QueuePart {
    BucketId bucket = 0;
    HostId host = 0;
    std::int32_t priority = 0;
    std::size_t from = 0;
    std::size_t limit = 0;
  };

  // `replicated`: a write counts when a replica has it, on nodes that have replicas. Claims,
  // renewals and releases always do. `client` must outlive the store.
  BucketStore(RedisClient& client, BucketKeys keys, bool replicated)
      : client_(client), keys_(std::move(keys)), replicated_(replicated) {}

  // How long a call may take while Redis is out of reach.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  std::vector<Result<Owner>> owners(std::span<const BucketId> buckets);
  // Of the buckets from 0 on. Errors: the first, but not damage.
  Result<std::vector<State>> states(BucketId count);
  std::vector<Claimed> claim(std::span<const Claim> claims);
  // The owner's time counts from before the call.
  std::vector<Written> renew(std::span<const Renewal> renewals);
  // Only after all batches of the owner are replicated: no crawler replays them afterwards. kFenced
  // also if it was released before.
  std::vector<Written> release(std::span<const Release> releases);

  // Batch `number` of an owner, encoded, to be kept for replay. `segment` is its key of
  // fingerprints, as in batch.meta.
  RedisCommand encode(BucketId bucket, std::string_view token, std::uint64_t number,
                      const BucketBatch& batch) const;
  // A push, to be sent with batches. `push` has messages.
  RedisCommand encode(const Push& push) const;
  // Applies batches, those of a bucket in the order of their numbers, and pushes: all in one
  // pipeline to each node. May be repeated.
  std::vector<Written> apply(std::span<const RedisCommand> commands);
  // Appends messages to inboxes. Not fenced; may be repeated, then an owner sees them twice.
  std::vector<Written> push(std::span<const Push> pushes);

  // Appends commands for the owners. Each is taken once, also if it is repeated.
  std::vector<Written> push_commands(std::span<const Command> commands);

  // The first messages of inboxes; their bodies are encode_requests() of url_messages.h.
  std::vector<Result<std::vector<InboxMessage>>> read_inboxes(std::span<const BucketId> buckets,
                                                              std::size_t limit);
  // The commands that wait for the owners.
  std::vector<Result<std::vector<InboxMessage>>> read_commands(std::span<const BucketId> buckets);
  // Both, of several buckets at once.
  void read_waiting(std::span<Waiting> waiting);
  // Puts what is not a message or a command out of the way. May be repeated.
  std::vector<Written> set_apart(std::span<const Damaged> damaged);
  std::vector<Result<std::uint64_t>> inbox_sizes(std::span<const BucketId> buckets);
  std::vector<Result<std::vector<QueuedUrl>>> read_queues(std::span<const QueuePart> parts);
  Result<std::vector<QueuedUrl>> read_queue(BucketId bucket, HostId host, std::int32_t priority,
                                            std::size_t from, std::size_t limit);
  std::vector<Result<std::uint64_t>> queue_sizes(BucketId bucket,
                                                 std::span<const QueueName> queues);

  // The node that has the bucket, as far as it is known.
  std::optional<RedisAddress> node_of(BucketId bucket) const;
  // How often this store's connection to the node has broken.
  std::uint64_t breaks(const RedisAddress& node) const { return client_.breaks(node); }
  // Looks again, if the last look is some seconds ago or a node is away, as each other call does.
  void look_for_nodes() { client_.run({}, {.patience = patience_}); }

  Result<std::vector<MemberTable::Seen>> members();
  // Writes the record of a member if it is one of its session, is absent, or is `replaces`.
  // kFenced: another process has the name.
  Written set_member(std::string_view name, const MemberTable::Beat& beat);
  // Removes the record if it is still this one.
  Written remove_member(std::string_view name, const MemberRecord& record);

  // What a new owner loads. Each calls `visit` with everything, in parts; with a host, a URL set
  // aside or a depth perhaps twice. Fingerprints are read in several keys at once.
  Result<void> visit_fingerprints(BucketId bucket, std::uint64_t newest_segment,
                                  const std::function<void(std::span<const std::uint64_t>)>& visit);
  Result<void> visit_hosts(BucketId bucket, const std::function<void(HostId, BucketHost)>& visit);
  Result<void> visit_deferred(BucketId bucket, const std::function<void(DeferredUrl)>& visit);
  Result<void> visit_set_aside(
      BucketId bucket,
      const std::function<void(std::uint64_t fingerprint, std::string_view value)>& visit,
      const std::function<void(Fingerprint, std::uint32_t depth)>& visit_depth = {});

 private:
  std::vector<Written> write(std::span<const RedisCommand> commands, bool wait);
  Written written(const RedisCommand& command, RedisAnswer& answer);
  Result<RedisReply> read(const RedisCommand& command);
  std::vector<Result<RedisReply>> read(std::span<const RedisCommand> commands);
  std::vector<Result<std::uint64_t>> list_sizes(std::span<const std::string> keys);
  std::vector<Result<std::vector<InboxMessage>>> read_messages(std::span<const std::string> keys,
                                                               std::size_t limit);
  Result<void> visit_hash(const std::string& key,
                          const std::function<bool(std::string_view, std::string_view)>& visit);

  RedisClient& client_;
  BucketKeys keys_;
  bool replicated_;
  BucketScripts scripts_;
  std::chrono::milliseconds patience_{2000};
};

}  // namespace trawl
