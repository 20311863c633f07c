#include "crawler/run/body_digest.h"

#include <fmt/format.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // XXH3 with the instructions that the processor has
#endif

namespace trawl {

BodyDigest::BodyDigest(const CrawlConfig::Output& config)
    : is_sha1_(config.digest == DigestAlgorithm::kSha1 ||
               (config.digest == DigestAlgorithm::kAuto && config.warc)) {}

std::string BodyDigest::operator()(std::string_view body) {
  if (is_sha1_) return sha1_.digest(body);
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  return fmt::format("xxh128:{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace trawl
