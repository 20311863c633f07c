#include "frontier/shared/bucket_keys.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace trawl {

std::string BucketKeys::key(BucketId bucket, std::string_view name) const {
  std::array<char, 8> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), bucket, 16).ptr;
  std::string key;
  key.reserve(crawl_.size() + digits.size() + name.size() + 3);
  key.append("{").append(crawl_).append(":").append(digits.data(), end).append("}").append(name);
  return key;
}

std::string BucketKeys::crawl_key(std::string_view name) const {
  return fmt::format("{{{}:{}}}", crawl_, name);
}

std::string BucketKeys::address(std::string_view ip) const {
  return crawl_key(fmt::format("a:{}", ip));
}

std::string BucketKeys::queue(BucketId bucket, HostId host, std::int32_t priority) const {
  return key(bucket, fmt::format("q{:016x}:{}", host, priority));
}

std::string_view BucketKeys::type_of(std::string_view key) {
  const std::size_t tag = key.find('}');
  switch (tag + 1 < key.size() ? key[tag + 1] : '\0') {
    case '\0':  // of the crawl as a whole
      return key.ends_with(":mem}") || key.ends_with(":cfg}") || key.ends_with(":bud}") ? "hash"
                                                                                        : "string";
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
