// Canonicalizer: which URLs a crawl takes to be the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trawl/canonical_profile.h"
#include "trawl/url.h"

namespace trawl {

class CompiledProfile;

// Turns a Url into its canonical key, the string that decides identity. What is fetched is the
// URL; what is deduplicated is the key. Immutable, thread-safe, cheap to copy.
//
// The lossless rules, which change no server's answer (RFC 3986 section 6.2.2), are always on: the
// fragment is dropped; so is the dot at the end of a host name; percent-escapes are written in
// upper-case hex; escapes of unreserved characters (ALPHA DIGIT - . _ ~) in path and query are
// decoded. docs/canonical-keys.md tells what the others do.
//
// A key is a URL, written as Url::href() writes it, and its own key. Takes time linear in the URL,
// and that of a sort for its query parameters under sort_query.
class Canonicalizer {
 public:
  explicit Canonicalizer(Profile profile = {});

  std::string key(const Url& url) const;
  // The same into a buffer the caller reuses; replaces its contents.
  void key_into(const Url& url, std::string& out) const {
    if (is_own_key(url)) {
      out.assign(url.href_without_fragment());
    } else {
      rewrite(url, out, nullptr);
    }
  }
  // The same without a copy where the key is the URL itself: a view of `url`, or of `scratch`,
  // which holds the key otherwise. Valid until either changes.
  std::string_view key_view(const Url& url, std::string& scratch) const {
    if (is_own_key(url)) return url.href_without_fragment();
    rewrite(url, scratch, nullptr);
    return scratch;
  }
  // As key_into(); sets `fired` to the rules that changed something.
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
