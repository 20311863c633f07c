// Which member of a crawl should own which bucket.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "frontier/shared/bucket_keys.h"

namespace trawl {

// The member that a bucket prefers, by rendezvous hashing (Thaler, Ravishankar: "Using name-based
// mappings to increase hit rates", 1998): of n members each is preferred by 1/n of the buckets, and
// a member that comes or goes changes the preference of its own buckets alone. Every crawler
// computes the same: the hash is part of the protocol.
// Precondition: there is a member.
std::size_t preferred_member(BucketId bucket, std::span<const std::string> members) noexcept;

}  // namespace trawl
