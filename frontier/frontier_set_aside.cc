// The frontier's URLs set aside: holding, listing and retrying them.
#include <utility>

#include "base/big_endian.h"
#include "base/wall_time.h"
#include "frontier/frontier_impl.h"
#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

// The most URLs that one operation of retry() queues: bounds its memory and how long other
// operations wait.
constexpr std::size_t kRetriedAtOnce = 1024;

// The fingerprint before `key`, after which a scan starts at `key`; nothing: `key` is the first.
std::optional<Fingerprint> before(Fingerprint key) {
  if (key.low > 0) return Fingerprint{.high = key.high, .low = key.low - 1};
  if (key.high > 0) return Fingerprint{.high = key.high - 1, .low = ~std::uint64_t{0}};
  return std::nullopt;
}

// SetAsideUrl::position.
constexpr std::size_t kPositionBytes = 16;

std::string position_of(Fingerprint key) {
  std::string bytes(kPositionBytes, '\0');
  store_big_endian(store_big_endian(bytes.data(), key.high), key.low);
  return bytes;
}

Result<std::optional<Fingerprint>> key_at(std::string_view position) {
  if (position.empty()) return std::nullopt;
  if (position.size() != kPositionBytes) {
    return error(ErrorCode::kInvalidArgument,
                 "set_aside(): `after` must be empty or the position of a URL that an earlier call "
                 "returned");
  }
  return Fingerprint{.high = load_big_endian<std::uint64_t>(position),
                     .low = load_big_endian<std::uint64_t>(position.substr(8))};
}

}  // namespace

// URLs to be queued again: at most kRetriedAtOnce.
struct FrontierImpl::RetryBatch {
  std::vector<Operation::Restored> restored;
  std::vector<SetAsideUrl> links;    // links that were never admitted, which are offered
  std::vector<GivenIdentity> given;  // for each of the links

  std::size_t size() const { return restored.size(); }
};

// Which of the URLs set aside are read.
struct FrontierImpl::RetryRange {
  std::optional<Fingerprint> after;  // absent: from the first on
  Fingerprint last;

  static RetryRange all() {
    return {.after = std::nullopt, .last = {.high = ~std::uint64_t{0}, .low = ~std::uint64_t{0}}};
  }
  static RetryRange of(Fingerprint only) { return {.after = before(only), .last = only}; }
};

void FrontierImpl::set_aside(Operation::Ended& ended, SetAsideState state,
                             const HoldReason& reason) const {
  const Lease& lease = ended.lease;
  const std::string url = encode_record({.url = lease.url,
                                         .parent = lease.parent,
                                         .depth = lease.depth,
                                         .redirects = lease.redirects,
                                         .recrawl = lease.recrawl,
                                         .note = lease.note,
                                         .given = ended.given});
  ended.set_aside = {
      .fingerprint = ended.fingerprint,
      .state = state,
      .was_queued = true,
      .always = reason.always,
      .value = encode_set_aside({.state = state,
                                 .was_queued = true,
                                 .reason = reason.reason,
                                 .rules = reason.rules,
                                 .status = ended.outcome.status,
                                 .since = to_milliseconds(options_.testing.wall_clock()),
                                 .priority = lease.priority,
                                 .url_record = url})};
}

Result<void> FrontierImpl::hold(std::uint64_t lease_id, const HoldReason& reason,
                                const Outcome& outcome) {
  if (reason.reason.empty()) {
    return error(ErrorCode::kInvalidArgument,
                 "hold() needs a reason: a word by which retry() can select the URL");
  }
  Outcome unasked = outcome;
  unasked.requested = false;
  const auto ended = end_lease(lease_id, unasked, {}, &reason);
  return ended ? Result<void>{} : tl::unexpected(ended.error());
}

Result<bool> FrontierImpl::has_room_to_set_aside() const {
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  return commits_->counters().set_aside() < options_.store.max_set_aside;
}

Result<std::vector<SetAsideUrl>> FrontierImpl::set_aside(std::string_view after,
                                                         std::size_t limit) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::vector<SetAsideUrl> urls;
  if (limit == 0) return urls;
  const auto last = key_at(after);
  if (!last) return tl::unexpected(last.error());
  auto read = store_->visit_set_aside(*last, [&](Fingerprint key, std::string_view value) {
    const auto record = decode_set_aside(value);
    if (auto url = record ? set_aside_url(*record) : std::nullopt) {
      urls.push_back(*std::move(url));
      urls.back().position = position_of(key);
    }
    return urls.size() < limit;
  });
  if (!read) return tl::unexpected(read.error());
  return urls;
}

Result<std::uint64_t> FrontierImpl::submit(RetryBatch& batch) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::vector<UrlRequest> requests;
  requests.reserve(batch.links.size());
  for (const SetAsideUrl& link : batch.links) {
    requests.push_back({.url = link.url,
                        .priority = link.priority,
                        .depth = link.depth,
                        .redirects = link.redirects,
                        .parent = link.parent,
                        .note = link.note});
  }
  std::vector<Admission> answers(requests.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  if (auto done = prepare(requests, answers, prepared, batch.given); !done)
    return tl::unexpected(done.error());
  const std::uint64_t requeued = commits_->counters().requeued;
  auto durable = commits_->submit_and_wait([&](Operation& operation) {
    using_store_.assert_shared();
    admit(requests, prepared, {}, answers, operation);
    operation.restored = std::move(batch.restored);
  });
  if (!durable) return tl::unexpected(durable.error());
  std::uint64_t queued = commits_->counters().requeued - requeued;
  for (const Admission answer : answers)
    queued += answer == Admission::kNew ? 1 : 0;
  batch = {};
  return queued;
}

// With RetryWhich::key only that record is read: first taking it as a URL, then as a key.
Result<std::uint64_t> FrontierImpl::retry(const RetryWhich& which) {
  if (which.key.empty()) return retry(which, RetryRange::all());
  std::uint64_t queued = 0;
  if (const auto as_url = identity_.of_href(which.key)) {
    const auto done = retry(which, RetryRange::of(*as_url));
    if (!done) return done;
    queued = *done;
  }
  std::string buffer;
  for (std::uint32_t bucket = 0; bucket < partitions_->buckets(); ++bucket) {
    if (!partitions_->is_open(bucket)) continue;
    const auto as_key = identity_.of_key_in(bucket, which.key, buffer);
    const auto done = retry(which, RetryRange::of(as_key));
    if (!done) return done;
    queued += *done;
  }
  return queued;
}

Result<std::uint64_t> FrontierImpl::retry_in(std::uint32_t bucket, const RetryWhich& which) {
  if (which.key.empty()) {
    // The upper bits of a fingerprint are those of the bucket's hosts.
    const auto [first, last] = identity_.hosts_of(bucket);
    return retry(which, {.after = before({.high = first, .low = 0}),
                         .last = {.high = last, .low = ~std::uint64_t{0}}});
  }
  std::uint64_t queued = 0;
  std::string buffer;
  const auto as_url = identity_.of_href(which.key);
  for (const auto& only : {as_url, std::optional(identity_.of_key_in(bucket, which.key, buffer))}) {
    if (!only || identity_.bucket_of(only->high) != bucket) continue;
    const auto done = retry(which, RetryRange::of(*only));
    if (!done) return done;
    queued += *done;
  }
  return queued;
}

Result<std::uint64_t> FrontierImpl::retry(const RetryWhich& which, RetryRange range) {
  std::uint64_t queued = 0;
  for (bool more = true; more;) {
    RetryBatch batch;
    const auto found = find_for_retry(which, range, batch);
    if (!found) return tl::unexpected(found.error());
    more = *found;
    if (batch.size() == 0) continue;
    const auto done = submit(batch);
    if (!done) return done;
    queued += *done;
  }
  return queued;
}

// Reads the URLs set aside in the range, whose beginning moves behind the last one read. Returns
// whether there are more.
Result<bool> FrontierImpl::find_for_retry(const RetryWhich& which, RetryRange& range,
                                          RetryBatch& batch) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  bool more = false;
  auto read = store_->visit_set_aside(range.after, [&](Fingerprint key, std::string_view value) {
    if (key > range.last) return false;
    if (batch.size() == kRetriedAtOnce) return !(more = true);
    range.after = key;
    const auto record = decode_set_aside(value);
    auto url = record ? set_aside_url(*record) : std::nullopt;
    if (!url || !which.matches(*url)) return true;
    batch.restored.push_back({.fingerprint = key,
                              .host = identity_.host(url->host),
                              .priority = record->priority,
                              .record = std::string()});
    if (record->was_queued) {
      batch.restored.back().record = record->url_record;
    } else {
      batch.links.push_back(*std::move(url));
      batch.given.push_back(decode_record(record->url_record)->given);
    }
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return more;
}

Result<std::uint64_t> FrontierImpl::revive_hosts() {
  const ReaderLock use(using_store_);
  std::vector<HostId> given_up;
  auto read = store_->visit_hosts(0, [&](HostId host, const HostRecord& record) {
    if (record.given_up) given_up.push_back(host);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  if (given_up.empty()) return 0;
  for (const HostId host : given_up) {
    if (auto revived = shard_of(host).revive_if_given_up(host); !revived)
      return tl::unexpected(revived.error());
  }
  auto durable = commits_->submit_and_wait([&](Operation& operation) {
    operation.changed_hosts.assign(given_up.begin(), given_up.end());
  });
  if (!durable) return tl::unexpected(durable.error());
  return given_up.size();
}

}  // namespace trawl
