#include "frontier/shared/bucket_keys.h"

#include <fmt/format.h>

namespace trawl {

std::string BucketKeys::key(BucketId bucket, std::string_view name) const {
  return fmt::format("{{{}:{:x}}}{}", crawl_, bucket, name);
}

std::string BucketKeys::members() const {
  return fmt::format("{{{}:mem}}", crawl_);
}

std::string BucketKeys::queue(BucketId bucket, HostId host, std::int32_t priority) const {
  return key(bucket, fmt::format("q{:016x}:{}", host, priority));
}

std::string_view BucketKeys::type_of(std::string_view key) {
  const std::size_t tag = key.find('}');
  switch (tag + 1 < key.size() ? key[tag + 1] : '\0') {
    case '\0':  // the members
    case 'm':
    case 'h':
    case 'e':
      return "hash";
    case 'd':
      return "zset";
    default:
      return "list";
  }
}

}  // namespace trawl
