// UrlIdentity: computes the fingerprint of a URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/url.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// Thread-safe.
class UrlIdentity {
 public:
  UrlIdentity(const KeyedHash& hash, Profile profile)
      : hash_(hash), canonicalizer_(std::move(profile)) {}

  const KeyedHash& hash() const noexcept { return hash_; }
  // For a URL without a key of its own. `buffer` is scratch space.
  Fingerprint of_url(const Url& url, std::string& buffer) const {
    return hash_(canonicalizer_.key_view(url, buffer));
  }
  // For the bytes of a UrlRequest::key. They are hashed with a prefix that no canonical key has.
  Fingerprint of_key(std::string_view key, std::string& buffer) const {
    buffer.assign(1, '\0').append(key);
    return hash_(buffer);
  }
  // For a stored URL; nothing if its URL is not valid.
  std::optional<Fingerprint> of(const UrlRecord& record) const {
    if (record.given.fingerprint) return record.given.fingerprint;
    return of_href(record.url);
  }
  std::optional<Fingerprint> of_href(std::string_view href) const {
    const auto url = Url::parse(href);
    if (!url) return std::nullopt;
    std::string buffer;
    return of_url(*url, buffer);
  }
  HostId host(std::string_view name) const { return host_id(hash_, name); }

 private:
  const KeyedHash hash_;
  const Canonicalizer canonicalizer_;
};

}  // namespace trawl
