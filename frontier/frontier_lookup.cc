// The frontier's lookup of one URL.
#include <utility>

#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/frontier_impl.h"
#include "frontier/store/set_aside_record.h"

namespace trawl {

Result<UrlState> FrontierImpl::lookup(std::string_view url_or_key) {
  // So that URLs admitted a moment ago are found too.
  if (auto flushed = flush(); !flushed) return tl::unexpected(flushed.error());
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::string buffer;
  if (const auto url = Url::parse(url_or_key)) {
    const Fingerprint fingerprint = identity_.of_url(*url, buffer);
    auto state = find(fingerprint, identity_.host(politeness_group(*url)));
    if (!state) return tl::unexpected(state.error());
    if (*state) return **std::move(state);
  }
  for (std::uint32_t bucket = 0; bucket < partitions_->buckets(); ++bucket) {
    if (!partitions_->is_open(bucket)) continue;
    auto state = find(identity_.of_key_in(bucket, url_or_key, buffer), std::nullopt);
    if (!state) return tl::unexpected(state.error());
    if (*state) return **std::move(state);
  }
  return UrlState{};
}

// Returns nothing if the URL was never admitted and is not held. `host` is the only queue to
// search; absent: any queue.
Result<std::optional<UrlState>> FrontierImpl::find(Fingerprint fingerprint,
                                                   std::optional<HostId> host) const {
  const auto value = store_->set_aside(fingerprint);
  if (!value) return tl::unexpected(value.error());
  if (const auto record = *value ? decode_set_aside(**value) : std::nullopt) {
    auto url = set_aside_url(*record);
    if (!url) return std::nullopt;
    return UrlState{.kind = url->state == SetAsideState::kHeld ? UrlState::Kind::kHeld
                                                               : UrlState::Kind::kFailed,
                    .host = std::move(url->host),
                    .reason = std::move(url->reason),
                    .status = url->status,
                    .at = url->since,
                    .depth = url->depth,
                    .redirects = url->redirects,
                    .note = std::move(url->note)};
  }
  if (!partitions_->contains(identity_.bucket_of(fingerprint.high), fingerprint))
    return std::nullopt;
  auto waiting = find_waiting(fingerprint, host);
  if (waiting && !*waiting && host) waiting = find_waiting(fingerprint, std::nullopt);
  if (!waiting || *waiting) return waiting;
  if (!ledger_) return UrlState{.kind = UrlState::Kind::kSeen};
  const auto record = store_->ledger(fingerprint);
  if (!record) return tl::unexpected(record.error());
  // The filter may give a false positive, the ledger does not.
  if (!*record) return std::nullopt;
  if ((*record)->fetches == 0) return UrlState{.kind = UrlState::Kind::kSeen};
  return UrlState{.kind = UrlState::Kind::kDone,
                  .status = (*record)->status,
                  .at = from_milliseconds((*record)->fetched),
                  .fetches = (*record)->fetches};
}

Result<std::optional<UrlState>> FrontierImpl::find_waiting(Fingerprint fingerprint,
                                                           std::optional<HostId> host) const {
  std::optional<UrlState> found;
  const auto is_it = [&](std::string_view value) {
    const auto record = decode_record(value);
    if (!record || identity_.of(*record) != fingerprint) return false;
    found.emplace().host = queue_of(*record);
    return true;
  };
  auto read =
      store_->visit_pending(host, [&](HostId id, const QueueOrder& order, std::string_view value) {
        if (!is_it(value)) return true;
        found->kind = shard_of(id).has_lease(id, order.sequence) ? UrlState::Kind::kLeased
                                                                 : UrlState::Kind::kWaiting;
        return false;
      });
  if (!read) return tl::unexpected(read.error());
  if (found) return found;
  read = store_->visit_deferred([&](const DeferredUrl& url) {
    if ((host && url.host != *host) || !is_it(url.record)) return true;
    found->kind = UrlState::Kind::kDeferred;
    found->at = clock_.to_wall(url.not_before);
    return false;
  });
  if (!read) return tl::unexpected(read.error());
  return found;
}

}  // namespace trawl
