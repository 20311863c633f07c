// SharedConfig: what all crawlers of a crawl have in common, in the key {crawl:cfg}.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// The layout of the keys and values, and the rules of the scripts.
inline constexpr std::uint32_t kSharedFormat = 2;

// The first crawler of a crawl writes it, once; the others must have the same.
struct SharedConfig {
  BucketId buckets = 256;
  std::string profile;  // Profile::name()
  std::uint64_t expected_urls = 0;
  std::chrono::milliseconds delay{0};
  std::chrono::milliseconds domain_delay{0};
  std::chrono::milliseconds address_delay{0};  // strictly over all crawlers; 0: each its own
  // Of the leases on buckets: with a shorter one, a crawler would claim what another still owns.
  std::chrono::milliseconds lease{10'000};
  // For the fingerprints of a crawl that begins with this; absent: a random one. Not compared.
  std::optional<KeyedHash> hash = std::nullopt;
};

// What the first crawler chose for all.
struct JoinedCrawl {
  std::string id;  // random: another crawl of the same name has another one
  KeyedHash hash;  // of fingerprints
  bool created = false;
};

// Creates or joins the crawl; all that is returned is replicated. `known_id`: of the crawl that
// this crawler took part in before, if it knows one. `patience` as in RedisClient::Run.
//
// Errors name the key, both values and what to do: kProfileMismatch, kInvalidArgument for another
// difference, kUnsupportedVersion, kNotFound if the crawl that it took part in is gone,
// kAlreadyExists if there is another one of this name, kCorrupt, kUnavailable.
Result<JoinedCrawl> join_crawl(RedisClient& client, const BucketKeys& keys,
                               const SharedConfig& config,
                               const std::optional<std::string>& known_id = std::nullopt,
                               std::chrono::milliseconds patience = std::chrono::seconds(10));

// What a crawl was begun with, for one who does not take part in it.
struct BegunCrawl {
  SharedConfig config;
  std::string id;
  KeyedHash hash;
};
// Changes nothing. Errors: kNotFound if there is no crawl of this name, kUnsupportedVersion,
// kCorrupt, kPermission, kUnavailable.
Result<BegunCrawl> read_crawl(RedisClient& client, const BucketKeys& keys,
                              std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace trawl
