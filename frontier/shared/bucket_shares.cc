#include "frontier/shared/bucket_shares.h"

#include <cassert>
#include <cstdint>
#include <tuple>

#include "base/mix.h"

namespace trawl {
namespace {

// FNV-1a, mixed with the bucket.
std::uint64_t score(BucketId bucket, const std::string& member) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : member)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix64(hash ^ mix64(bucket + std::uint64_t{1}));
}

}  // namespace

std::size_t preferred_member(BucketId bucket, std::span<const std::string> members) noexcept {
  assert(!members.empty());
  std::size_t best = 0;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const std::uint64_t here = score(bucket, members[i]), there = score(bucket, members[best]);
    if (std::tie(here, members[i]) > std::tie(there, members[best])) best = i;
  }
  return best;
}

}  // namespace trawl
