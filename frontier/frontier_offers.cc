// How offered URLs become operations. A call with many URLs is several operations, each of which
// admits a part: so the gate is left soon, and other calls' operations come in between.
//
// The parts of a very large call also wait for each other. All that is queued is committed as one
// group, so that what others wait for would be durable only with the whole of the call, and shards
// would queue its URLs in one go. So each part is begun when the part before the last one is
// durable: one is committed while the next one is prepared.
#include <algorithm>
#include <future>
#include <utility>

#include "frontier/frontier_impl.h"
#include "frontier/store/queued_url.h"

namespace trawl {

namespace {

// A call with more URLs is very large.
constexpr std::size_t kVeryLarge = 4096;

}  // namespace

void FrontierImpl::admit(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                         std::string_view parent, std::span<Admission> answers,
                         Operation& operation) {
  auto done = admission_.admit(requests, prepared, parent, answers, operation);
  if (!done) commits_->stop_with(done.error());
}

Result<void> FrontierImpl::prepare(std::span<const UrlRequest> requests,
                                   std::span<Admission> answers, PreparedUrls& prepared,
                                   std::span<const GivenIdentity> given) {
  relieve_inboxes();
  auto done = admission_.prepare(requests, answers, prepared, given);
  if (!done) commits_->stop_with(done.error());
  return done;
}

Result<std::size_t> FrontierImpl::admit_first_parts(std::span<const UrlRequest> requests,
                                                    std::string_view parent,
                                                    std::span<Admission> answers,
                                                    PreparedUrls& prepared) {
  const bool very_large = requests.size() > kVeryLarge && !options_.testing.deterministic_seed;
  constexpr std::size_t size = kUrlsOfAnOperation;
  std::future<Result<void>> previous;
  std::size_t first = 0;
  for (; requests.size() - first > size; first += size) {
    const auto part = requests.subspan(first, size);
    const auto part_answers = answers.subspan(first, size);
    if (auto done = prepare(part, part_answers, prepared); !done)
      return tl::unexpected(done.error());
    const auto admit_part = [&](Operation& operation) {
      using_store_.assert_shared();
      admit(part, prepared, parent, part_answers, operation);
    };
    if (!very_large) {
      if (auto done = submit(admit_part); !done) return tl::unexpected(done.error());
      continue;
    }
    auto durable = commits_->submit_watched(admit_part);
    if (!durable) return tl::unexpected(durable.error());
    if (previous.valid()) {
      if (auto done = previous.get(); !done) return tl::unexpected(done.error());
    }
    previous = std::move(*durable);
  }
  return first;
}

Result<std::vector<Admission>> FrontierImpl::offer(std::span<const UrlRequest> requests,
                                                   OfferWait wait) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::vector<Admission> admissions(requests.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  const auto first = admit_first_parts(requests, {}, admissions, prepared);
  if (!first) return tl::unexpected(first.error());
  const auto part = requests.subspan(*first);
  const std::span<Admission> answers(admissions.data() + *first, part.size());
  if (auto done = prepare(part, answers, prepared); !done) return tl::unexpected(done.error());
  const auto admit_part = [&](Operation& operation) {
    using_store_.assert_shared();
    admit(part, prepared, {}, answers, operation);
  };
  // Operations of one thread are committed in order: waiting for the last is enough.
  const auto done =
      wait == OfferWait::kDurable ? commits_->submit_and_wait(admit_part) : submit(admit_part);
  if (!done) return tl::unexpected(done.error());
  return admissions;
}

Result<std::string> FrontierImpl::url_of_lease(std::uint64_t lease_id) const {
  if (auto pending = pending_ends_.url_of(lease_id)) return *std::move(pending);
  const auto stored = shard_of_lease(lease_id).open_record(number_of(lease_id));
  if (!stored) return tl::unexpected(stored.error());
  const auto record = decode_record(*stored);  // if it is damaged, ending the lease says so
  return record ? std::string(record->url) : std::string();
}

}  // namespace trawl
