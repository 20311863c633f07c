#include "frontier/store/url_identity.h"

#include "trawl/url_groups.h"

#include "frontier/common/queue_names.h"

namespace trawl {

Fingerprint UrlIdentity::with_bucket(Fingerprint plain, const Url& url,
                                     std::string_view queue) const {
  return with_bits(plain, bucket_bits(queue.empty() ? group_host(url) : queue));
}

std::uint64_t UrlIdentity::bucket_bits(std::string_view queue) const {
  return first_bits(bucket_of(hash_(registrable_domain(without_port(queue))).high));
}

}  // namespace trawl
