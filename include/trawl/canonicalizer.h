// Canonicalizer: which URLs a crawl takes to be the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// The rules a canonical key is made by. Today there is one profile, the lossless one:
// the rules that RFC 3986 section 6.2.2 calls syntax-based and that change no server's answer.
struct Profile {
  friend bool operator==(const Profile&, const Profile&) = default;
  // A name that is stored with a crawl's state: another name means other keys.
  std::string name() const { return "lossless-1"; }
};

// Turns a Url into its canonical key, the string that decides identity. What is fetched is the
// URL; what is deduplicated is the key. Immutable, thread-safe.
//
// The lossless rules: the fragment is dropped; percent-escapes are written in upper-case hex;
// escapes of unreserved characters (RFC 3986: ALPHA DIGIT - . _ ~) in path and query are decoded.
// Idempotent: the key of a key is the key.
class Canonicalizer {
 public:
  explicit Canonicalizer(Profile profile = {}) : profile_(profile) {}

  std::string key(const Url& url) const;
  // The same into a buffer the caller reuses; replaces its contents.
  void key_into(const Url& url, std::string& out) const;

  const Profile& profile() const noexcept { return profile_; }

 private:
  Profile profile_;
};

}  // namespace trawl
