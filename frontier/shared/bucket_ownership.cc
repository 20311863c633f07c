#include "frontier/shared/bucket_ownership.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontier/shared/bucket_shares.h"

namespace trawl {

using Code = BucketStore::Written::Code;

BucketOwnership::BucketOwnership(BucketStore& store, Options options,
                                 std::function<BootTime()> clock)
    : store_(store),
      options_(std::move(options)),
      clock_(std::move(clock)),
      members_({.self = options_.member,
                .session = options_.session,
                .lease = options_.lease,
                .previous_session = options_.previous_session}),
      buckets_(std::make_unique<Bucket[]>(options_.buckets)) {}

// Renewals are what must not come late: their answers, 0.8 of the lease time after they were sent
// before. With a node that does not answer, each call takes all of its patience. Then a step makes
// no further one, and every second step renews: a tenth for renewals, two twentieths for a meeting,
// a tenth for renewals, and the time between steps.
Result<BucketOwnership::Events> BucketOwnership::step() {
  Events events;
  const auto is_due = [&](const std::optional<BootTime>& last, int share) {
    return !last || clock_() - *last >= options_.lease / share;
  };
  if (is_due(renewed_, 4) && !std::exchange(renewed_in_vain_, false)) {
    renewed_ = clock_();
    store_.set_patience(options_.lease / 10);
    renew(events);
    renewed_in_vain_ = !events.troubles.empty();
    if (renewed_in_vain_) return events;
  }
  store_.set_patience(options_.lease / 20);
  // Others wait for this member to become idle, but not for its being busy again.
  const bool has_become_idle = idle_ != 0 && idle_ != members_.own_record().idle;
  if (is_due(met_, has_become_idle ? 10 : 4) || !members_.has_name()) {
    met_ = clock_();
    if (auto met = meet(events); !met) return tl::unexpected(met.error());
    if (!events.troubles.empty()) return events;
  }
  if (is_due(looked_, 10)) {
    looked_ = clock_();
    look(events);
  }
  return events;
}

std::size_t BucketOwnership::owned() const {
  std::size_t count = 0;
  for (BucketId b = 0; b < options_.buckets; ++b)
    count += buckets_[b].token.empty() ? 0 : 1;
  return count;
}

void BucketOwnership::allow_starts(Bucket& bucket, BootTime sent) {
  const BootTime until = sent + options_.lease * 8 / 10;
  bucket.deadline.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void BucketOwnership::stop_starts() {
  for (BucketId b = 0; b < options_.buckets; ++b)
    buckets_[b].deadline.store(0, std::memory_order_relaxed);
}

void BucketOwnership::drop(BucketId b) {
  forget(b);
  buckets_[b].avoided_until = clock_() + options_.lease;
}

void BucketOwnership::forget(BucketId b) {
  Bucket& bucket = buckets_[b];
  bucket.deadline.store(0, std::memory_order_relaxed);
  bucket.token.clear();
  bucket.to_release = false;
  bucket.seen = {};
  bucket.seen_since.reset();
}

void BucketOwnership::renew(Events& events) {
  std::vector<BucketStore::Renewal> renewals;
  for (BucketId b = 0; b < options_.buckets; ++b)
    if (!buckets_[b].token.empty())
      renewals.push_back({.bucket = b, .token = buckets_[b].token, .name = fresh_name()});
  if (renewals.empty()) return;
  const BootTime sent = clock_();
  const auto results = store_.renew(renewals);
  std::vector<BucketId> lost;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    Bucket& bucket = buckets_[renewals[i].bucket];
    if (results[i].code == Code::kDone) {
      events.renewed.push_back({.bucket = renewals[i].bucket, .version = results[i].version});
      allow_starts(bucket, sent);
    } else if (results[i].code == Code::kFenced) {
      lost.push_back(renewals[i].bucket);
    } else if (results[i].error) {
      events.troubles.push_back(*results[i].error);
    }
  }
  if (!lost.empty()) check_whether_emptied(lost, events);
}

// Without AOF a node that was started again is empty: claiming its buckets would start the crawl
// again. The owner knows better.
void BucketOwnership::check_whether_emptied(const std::vector<BucketId>& lost, Events& events) {
  const auto owners = store_.owners(lost);
  for (std::size_t i = 0; i < lost.size(); ++i) {
    Bucket& bucket = buckets_[lost[i]];
    const bool emptied = owners[i] && !owners[i]->exists && !bucket.token.empty();
    forget(lost[i]);
    bucket.emptied = bucket.emptied || emptied;
    (emptied ? events.emptied : events.lost).push_back(lost[i]);
  }
}

Result<void> BucketOwnership::meet(Events& events) {
  if (!claims_) return {};
  auto members = store_.members();
  if (!members) {
    events.troubles.push_back(members.error());
    members_.miss();
    return {};
  }
  if (auto seen = members_.see(*members, clock_()); !seen) return seen;
  if (const auto beat = members_.next_beat(owned(), idle_, clock_())) {
    const BucketStore::Written written = store_.set_member(options_.member, *beat);
    if (written.error) {
      events.troubles.push_back(*written.error);
    } else if (auto kept = members_.beaten(written.code == Code::kDone); !kept) {
      return kept;
    }
  }
  for (const MemberTable::Seen& one : members_.gone(clock_()))
    if (const auto removed = store_.remove_member(one.name, one.record); removed.error)
      events.troubles.push_back(*removed.error);
  return {};
}

BucketStore::Written BucketOwnership::leave() {
  claims_ = false;
  return store_.remove_member(options_.member, members_.own_record());
}

// Whose owner is known to be none: the process before this one, or this one after a claim that was
// not answered.
bool BucketOwnership::is_abandoned(const std::string& token) const {
  return token.starts_with(options_.session + ".") ||
         (!options_.previous_session.empty() && token.starts_with(options_.previous_session + "."));
}

void BucketOwnership::look(Events& events) {
  const std::vector<std::string> members = members_.living(clock_());
  std::vector<BucketId> others;
  for (BucketId b = 0; b < options_.buckets; ++b) {
    Bucket& bucket = buckets_[b];
    if (bucket.emptied) continue;
    if (bucket.token.empty()) {
      others.push_back(b);
      continue;
    }
    const std::string& preferred = members[preferred_member(b, members)];
    if (bucket.to_release || !members_.has_moved(preferred, clock_())) continue;
    bucket.to_release = true;
    events.to_release.push_back(b);
  }
  // A crawler that was just started waits for the first look at the members.
  const auto owners = store_.owners(others);
  const BootTime now = clock_();
  std::vector<BucketStore::Claim> claims;
  for (std::size_t i = 0; i < others.size(); ++i) {
    Bucket& bucket = buckets_[others[i]];
    if (!owners[i]) {
      events.troubles.push_back(owners[i].error());
      bucket.seen_since.reset();  // what happened meanwhile is not known
      continue;
    }
    const bool same = bucket.seen_since && bucket.seen.token == owners[i]->token &&
                      bucket.seen.renewal == owners[i]->renewal;
    if (!same) bucket.seen_since = now;
    bucket.seen = *owners[i];
    const bool free = bucket.seen.token.empty() || is_abandoned(bucket.seen.token) ||
                      now - *bucket.seen_since >= options_.lease;
    const bool is_avoided = bucket.avoided_until && now < *bucket.avoided_until;
    if (!claims_ || !free || is_avoided || !members_.has_name() ||
        members[preferred_member(others[i], members)] != options_.member)
      continue;
    claims.push_back({.bucket = others[i], .seen = bucket.seen, .token = fresh_name()});
  }
  if (!claims.empty()) claim(std::move(claims), events);
}

void BucketOwnership::claim(std::vector<BucketStore::Claim> claims, Events& events) {
  const BootTime sent = clock_();
  const auto claimed = store_.claim(claims);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Bucket& bucket = buckets_[claims[i].bucket];
    const BucketStore::Written& result = claimed[i].result;
    bucket.seen_since.reset();
    if (result.error) events.troubles.push_back(*result.error);
    if (result.code != Code::kDone) continue;
    bucket.token = claims[i].token;
    allow_starts(bucket, sent);
    events.gained.push_back({.bucket = claims[i].bucket, .meta = claimed[i].meta});
  }
}

std::vector<BucketStore::Written> BucketOwnership::release(std::span<const BucketId> buckets) {
  std::vector<BucketStore::Release> releases;
  for (const BucketId bucket : buckets) {
    releases.push_back({.bucket = bucket, .token = buckets_[bucket].token});
    forget(bucket);  // before Redis knows
  }
  return store_.release(releases);
}

}  // namespace trawl
