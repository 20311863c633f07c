// A scan does not see all buckets at one moment: while it goes on, a link may travel from one that
// was not read yet to one that was. But a bucket whose two scans found nothing to do, and the same
// number of its last batch, had nothing to do all the time in between: whatever comes goes through
// its inbox, and leaves that with a batch. So at the moment between the scans all had nothing to
// do. The links of a page are in inboxes before the page leaves its queue, so there was nothing
// elsewhere.
//
// That an owner is idle holds for as long as its buckets have the batches at which it said so: only
// a message, or the owner's own caller, can give it something to do, and both end in a batch.
#include "frontier/shared/crawl_end.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "frontier/shared/idle_mark.h"

namespace trawl {

namespace {

// Of the process that made a token: see BucketOwnership.
std::string_view session_in(std::string_view token) {
  return token.substr(0, token.rfind('.'));
}

bool all_are_idle(const std::vector<BucketStore::State>& buckets,
                  const std::vector<MemberTable::Seen>& members) {
  std::map<std::string_view, IdleMark> marks;
  for (BucketId b = 0; b < buckets.size(); ++b) {
    if (buckets[b].token.empty()) {
      if (buckets[b].open > 0) return false;  // its next owner may lease
      continue;
    }
    marks[session_in(buckets[b].token)].add(b, buckets[b].version);
  }
  return std::ranges::all_of(marks, [&](const auto& mark) {
    return std::ranges::any_of(members, [&](const MemberTable::Seen& member) {
      return member.record.session == mark.first && member.record.idle == mark.second.value();
    });
  });
}

}  // namespace

Result<CrawlEnd::Scan> CrawlEnd::scan() {
  auto buckets = store_.states(buckets_);
  if (!buckets) return tl::unexpected(buckets.error());
  for (const BucketStore::State& bucket : *buckets)
    if (bucket.damage) return tl::unexpected(*bucket.damage);
  Scan scan{.buckets = std::move(*buckets), .progress = {}};
  const SharedTotals totals = totals_of(scan.buckets);
  if (totals.messages > 0 || totals.commands > 0 || totals.claimed < totals.buckets) return scan;
  scan.progress.finished = totals.open == 0;
  if (scan.progress.finished) return scan;
  const FrontierCounters& counters = totals.counters;
  if (counters.deferred != counters.recrawls_deferred) return scan;  // retries will be due
  const auto members = store_.members();
  if (!members) return tl::unexpected(members.error());
  const bool idle = all_are_idle(scan.buckets, *members);
  scan.progress.exhausted = idle && counters.deferred == 0;
  scan.progress.only_recrawls_wait = idle && counters.deferred > 0;
  return scan;
}

Progress CrawlEnd::conclude(const Scan& first, const Scan& second) {
  const bool same = std::ranges::equal(first.buckets, second.buckets, {},
                                       &BucketStore::State::version, &BucketStore::State::version);
  if (!same) return {};
  const Progress &one = first.progress, &other = second.progress;
  return {.finished = one.finished && other.finished,
          .exhausted = one.exhausted && other.exhausted,
          .only_recrawls_wait = one.only_recrawls_wait && other.only_recrawls_wait};
}

Result<Progress> CrawlEnd::progress() {
  const auto first = scan();
  return first ? progress(*first) : tl::unexpected(first.error());
}

// Counts of offers that are written meanwhile make a batch too, but only one.
Result<Progress> CrawlEnd::progress(const Scan& first) {
  Scan last = first;
  for (int look = 0; look < 2 && last.progress.at_end(); ++look) {
    auto next = scan();
    if (!next) return tl::unexpected(next.error());
    const Progress progress = conclude(last, *next);
    if (progress.at_end()) return progress;
    last = *std::move(next);
  }
  return Progress{};
}

}  // namespace trawl
