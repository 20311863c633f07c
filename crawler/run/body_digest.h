// BodyDigest: the digest by which equal bodies are recognised.
#pragma once

#include <string>
#include <string_view>

#include "crawler/config/crawl_config.h"
#include "crawler/warc/sha1.h"

namespace trawl {

// Not thread-safe: see Sha1.
class BodyDigest {
 public:
  // kAuto: SHA-1 if the crawl writes WARC files, which use it too, else XXH128.
  explicit BodyDigest(const CrawlConfig::Output& config);

  // Returns "sha1:" and base32, or "xxh128:" and 32 hexadecimal digits as `xxhsum -H2` prints them.
  std::string operator()(std::string_view body);

 private:
  bool is_sha1_;
  Sha1 sha1_;
};

}  // namespace trawl
