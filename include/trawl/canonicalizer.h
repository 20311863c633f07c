// Canonicalizer: decides which URLs a crawl treats as the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trawl/canonical_profile.h"
#include "trawl/url.h"

namespace trawl {

class CompiledProfile;

// Turns a Url into its canonical key, the string that decides identity. What is fetched is the URL;
// what is deduplicated is the key. Immutable, thread-safe, cheap to copy.
//
// The lossless rules, which change no server's answer (RFC 3986 section 6.2.2), are always on. They
// drop the fragment and the dot at the end of a host name, write percent-escapes in upper-case hex,
// and decode escapes of unreserved characters (ALPHA DIGIT - . _ ~) in path and query.
// docs/canonical-keys.md describes the other rules.
//
// A key is a URL in the form of Url::href(), and is its own key. Takes time linear in the URL's
// length, plus that of sorting its query parameters under sort_query.
class Canonicalizer {
 public:
  explicit Canonicalizer(Profile profile = {});

  std::string key(const Url& url) const;
  // The same into a buffer that the caller reuses; replaces its contents.
  void key_into(const Url& url, std::string& out) const {
    if (is_own_key(url)) {
      out.assign(url.href_without_fragment());
    } else {
      rewrite(url, out, nullptr);
    }
  }
  // The same, without a copy if the key is the URL itself: a view of `url`, or else of `scratch`,
  // which then holds the key. Valid until either changes.
  std::string_view key_view(const Url& url, std::string& scratch) const {
    if (is_own_key(url)) return url.href_without_fragment();
    rewrite(url, scratch, nullptr);
    return scratch;
  }
  // The same; also sets `fired` to the rules that changed something.
  void key_into(const Url& url, std::string& out, RuleSet& fired) const;

  const Profile& profile() const noexcept { return profile_; }

 private:
  bool is_own_key(const Url& url) const noexcept {
    return compiled_ == nullptr && !url.has_percent() && !url.hostname().ends_with('.');
  }
  void rewrite(const Url& url, std::string& out, RuleSet* fired) const;

  Profile profile_;
  std::shared_ptr<const CompiledProfile> compiled_;  // null: the lossless rules alone
};

}  // namespace trawl
