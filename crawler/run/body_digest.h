// BodyDigest: what bodies are told apart by.
#pragma once

#include <string>
#include <string_view>

#include "crawler/config/config.h"
#include "crawler/warc/digest.h"

namespace trawl {

// Not thread-safe: see Sha1.
class BodyDigest {
 public:
  // kAuto: SHA-1 if the crawl writes WARC files, whose digests are that, or else XXH128.
  explicit BodyDigest(const CrawlConfig::Output& config);

  // "sha1:" and base32, or "xxh128:" and 32 hexadecimal digits as `xxhsum -H2` prints them.
  std::string operator()(std::string_view body);

 private:
  bool is_sha1_;
  Sha1 sha1_;
};

}  // namespace trawl
