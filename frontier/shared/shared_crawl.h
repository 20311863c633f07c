// SharedCrawl: a crawl in Redis, for one who does not take part in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/shared_config.h"
#include "frontier/store/counters.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// Owns nothing and claims nothing: a crawl may run meanwhile, of which each bucket is then seen at
// another moment. What it writes are messages and commands for the owners. Not thread-safe.
class SharedCrawl {
 public:
  // How long calls may take while a node is out of reach.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  struct Bucket {
    BucketId id = 0;
    BucketStore::Owner owner;
    Counters counters;
    std::uint64_t open = 0;       // URLs queued or deferred
    std::uint64_t hosts = 0;      // with URLs or settings
    std::uint64_t deferred = 0;   // URLs
    std::uint64_t set_aside = 0;  // URLs held or failed
    std::uint64_t inbox = 0;      // messages
    std::uint64_t commands = 0;
    std::optional<MessageId> first_message;
    std::string node;         // "10.0.0.1:6379"; empty: none has it
    std::string trouble;      // why nothing else is known; empty: it is
    bool is_damaged = false;  // the trouble is a key of its own, not its node
  };
  struct Node {
    std::string address;
    std::string trouble;  // why it does not say the rest
    std::uint64_t memory = 0;
    std::uint64_t max_memory = 0;  // 0: no limit
    std::string version;
  };

  // Errors: those of RedisClient::connect() and read_crawl(); kUnsupportedVersion of Redis too.
  static Result<std::unique_ptr<SharedCrawl>> open(RedisOptions options, const std::string& name);

  const BegunCrawl& begun() const noexcept { return begun_; }
  const BucketKeys& keys() const noexcept { return keys_; }
  const UrlIdentity& identity() const noexcept { return identity_; }
  BucketStore& bucket_store() noexcept { return store_; }
  std::vector<BucketId> buckets() const;
  // What could not be checked.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  // All buckets, in order. While a node is out of reach its buckets are in trouble; so is one with
  // a key that is damaged, or another program's. Errors: the first trouble, if all are in trouble;
  // others of Redis.
  Result<std::vector<Bucket>> survey(std::chrono::milliseconds patience = kPatience);
  // The masters.
  std::vector<Node> nodes();
  // The member whose token it is: the session of one of `members` is its beginning.
  static std::optional<std::string_view> owner_of(std::string_view token,
                                                  const std::vector<MemberTable::Seen>& members);

 private:
  SharedCrawl(std::unique_ptr<RedisClient> client, BucketKeys keys, BegunCrawl begun,
              Profile profile)
      : client_(std::move(client)),
        keys_(std::move(keys)),
        store_(*client_, keys_, true),
        begun_(std::move(begun)),
        identity_(begun_.hash, std::move(profile), begun_.config.buckets) {}

  std::unique_ptr<RedisClient> client_;
  BucketKeys keys_;
  BucketStore store_;
  BegunCrawl begun_;
  UrlIdentity identity_;
  std::vector<std::string> warnings_;
};

}  // namespace trawl
