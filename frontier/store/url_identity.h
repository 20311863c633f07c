// UrlIdentity: what a URL and a queue are known by, its fingerprint and its HostId.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/url.h"

#include "base/mix.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// The queues of a shared frontier are divided into buckets. Fingerprints and HostIds carry the
// bucket in their top 16 bits: those of a hash of the registrable domain. So a domain is in one
// bucket, with all its hosts and URLs, and each record of the store says where it belongs. Any
// name may be that of a queue (UrlRequest::queue), and of a host at the same time: the bucket is a
// function of the name alone, as the HostId is. The bits are the same for all names of a bucket.
//
// Elsewhere both are plain hashes. Thread-safe.
class UrlIdentity {
 public:
  static constexpr unsigned kBucketBits = 16;

  // `buckets`: of a shared frontier, at most 2^16; 0: it is not shared.
  UrlIdentity(const KeyedHash& hash, Profile profile, std::uint32_t buckets = 0)
      : hash_(hash), canonicalizer_(std::move(profile)), buckets_(buckets) {
    assert(buckets <= 1u << kBucketBits);
  }

  // A place in a table of n, by the bits that differ within a bucket first.
  static constexpr std::size_t place_of(Fingerprint key, std::size_t n) noexcept {
    return static_cast<std::size_t>(scale_to(std::rotl(key.high, kBucketBits), n));
  }

  const KeyedHash& hash() const noexcept { return hash_; }
  // For a URL without a key of its own. `buffer` is scratch space. `queue`: the queue that the URL
  // is in, if it is not its host's.
  Fingerprint of_url(const Url& url, std::string& buffer, std::string_view queue = {}) const {
    const Fingerprint plain = hash_(canonicalizer_.key_view(url, buffer));
    return buckets_ == 0 ? plain : with_bucket(plain, url, queue);
  }
  // For the bytes of a UrlRequest::key. They are hashed with a prefix that no canonical key has.
  // `queue`: the queue that the URL is in.
  Fingerprint of_key(std::string_view key, std::string_view queue, std::string& buffer) const {
    buffer.assign(1, '\0').append(key);
    const Fingerprint plain = hash_(buffer);
    return buckets_ == 0 ? plain : with_bits(plain, bucket_bits(queue));
  }
  // The same for a key whose queue is not known: if it is in that bucket.
  Fingerprint of_key_in(std::uint32_t bucket, std::string_view key, std::string& buffer) const {
    const Fingerprint anywhere = of_key(key, {}, buffer);
    return buckets_ == 0 ? anywhere : with_bits(anywhere, first_bits(bucket));
  }
  // For a stored URL; nothing if its URL is not valid.
  std::optional<Fingerprint> of(const UrlRecord& record) const {
    if (record.given.fingerprint) return record.given.fingerprint;
    return of_href(record.url, record.given.queue);
  }
  std::optional<Fingerprint> of_href(std::string_view href, std::string_view queue = {}) const {
    const auto url = Url::parse(href);
    if (!url) return std::nullopt;
    std::string buffer;
    return of_url(*url, buffer, queue);
  }
  HostId host(std::string_view name) const {
    const HostId plain = host_id(hash_, name);
    return buckets_ == 0 ? plain : with_bits(plain, bucket_bits(name));
  }

  // The bucket of a HostId or of Fingerprint::high; 0 if the frontier is not shared.
  std::uint32_t bucket_of(std::uint64_t id) const noexcept {
    return static_cast<std::uint32_t>((id >> kShift) * buckets_ >> kBucketBits);
  }
  // The HostIds of a bucket, from the first to the last.
  std::pair<HostId, HostId> hosts_of(std::uint32_t bucket) const noexcept {
    assert(bucket < buckets_);
    const HostId last =
        bucket + 1 == buckets_ ? ~HostId{0} : (first_bits(bucket + 1) << kShift) - 1;
    return {first_bits(bucket) << kShift, last};
  }
  // Which of `shards` has the host: a bucket is in one.
  std::uint32_t shard_of(HostId host, std::uint32_t shards) const noexcept {
    if (buckets_ == 0) return static_cast<std::uint32_t>(scale_to(host, shards));
    return static_cast<std::uint32_t>(std::uint64_t{bucket_of(host)} * shards / buckets_);
  }

 private:
  static constexpr unsigned kShift = 64 - kBucketBits;

  static std::uint64_t with_bits(std::uint64_t id, std::uint64_t bits) noexcept {
    return id << kBucketBits >> kBucketBits | bits << kShift;
  }
  static Fingerprint with_bits(Fingerprint plain, std::uint64_t bits) noexcept {
    return {.high = with_bits(plain.high, bits), .low = plain.low};
  }
  // The smallest bits for which bucket_of() is this bucket.
  std::uint64_t first_bits(std::uint64_t bucket) const noexcept {
    return ((bucket << kBucketBits) + buckets_ - 1) / buckets_;
  }
  Fingerprint with_bucket(Fingerprint plain, const Url& url, std::string_view queue) const;
  std::uint64_t bucket_bits(std::string_view queue) const;

  const KeyedHash hash_;
  const Canonicalizer canonicalizer_;
  const std::uint32_t buckets_;
};

}  // namespace trawl
