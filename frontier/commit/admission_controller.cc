// How an offer becomes an operation.
//
// prepare() runs outside the gate: it parses the URLs, computes their canonical keys and
// fingerprints, and answers the requests that need no filter (invalid, too long). In exact mode it
// also looks up in the ledger the URLs that the filter may have seen. The ledger only grows, so
// that what is found there needs no second lookup.
//
// admit() runs inside the gate, in memory except for exact mode: it holds links, inserts all
// fingerprints into the filter in one batch (A1), and encodes a record for each winner. In exact
// mode claims and the ledger decide about the filter's "seen" answers (exact_claims.h). Last,
// note_depths() reports URLs that were found closer to a seed than when they were admitted
// (waiting_depths.h).
#include "frontier/commit/admission_controller.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>
#include <utility>

#include "trawl/url_groups.h"

#include "base/mix.h"
#include "base/wall_time.h"
#include "frontier/common/queue_names.h"
#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

bool has_any(const GivenIdentity& given) {
  return given.fingerprint || !given.queue.empty();
}

// A URL with a key is stored as given. `url` is the parsed URL.
std::string_view url_to_store(const UrlRequest& request, const Url& url,
                              const GivenIdentity& given) {
  return given.fingerprint ? request.url : url.href_without_fragment();
}

bool is_sampled(Fingerprint key) {
  return mix64(key.high ^ key.low) % kSeenSample == 0;
}

}  // namespace

PreparedUrls& PreparedUrls::of_this_thread() {
  thread_local PreparedUrls prepared;
  return prepared;
}

AdmissionController::AdmissionController(Partitions& partitions, const CommitReads& store,
                                         WaitingDepths& depths, const UrlIdentity& identity,
                                         AdmissionOptions options)
    : partitions_(partitions),
      store_(store),
      options_(std::move(options)),
      identity_(identity),
      depths_(depths),
      cache_(options_.exact ? options_.cache_bytes : 0) {
  assert(!options_.exact || !partitions_.is_shared());  // it has no ledger
  if (partitions_.is_shared()) forwarded_.emplace();
}

std::optional<Fingerprint> AdmissionController::identify(const UrlRequest& request, Url& url,
                                                         GivenIdentity& given,
                                                         std::string& buffer) const {
  if (request.url.empty() || request.queue.size() > kMaxQueueBytes) return std::nullopt;
  const bool parses = Url::parse_into(request.url, nullptr, url).has_value();
  if (request.key.empty() && !parses) return std::nullopt;
  std::string queue(request.queue);
  if (queue.empty()) queue = parses ? politeness_group(url) : host_of_any(request.url);
  if (queue.empty()) return std::nullopt;
  const std::string_view stored = request.key.empty() ? url.href_without_fragment() : request.url;
  const Fingerprint fingerprint = request.key.empty()
                                      ? identity_.of_url(url, buffer, queue)
                                      : identity_.of_key(request.key, queue, buffer);
  if (!request.key.empty()) given.fingerprint = fingerprint;
  if (queue != host_of(stored)) {
    given.queue = std::move(queue);
    given.named = !request.queue.empty();
  }
  return fingerprint;
}

Result<void> AdmissionController::prepare(std::span<const UrlRequest> requests,
                                          std::span<Admission> answers, PreparedUrls& prepared,
                                          std::span<const GivenIdentity> stored_with) {
  assert(answers.size() == requests.size());
  assert(stored_with.empty() || stored_with.size() == requests.size());
  if (prepared.urls_.size() < requests.size()) prepared.urls_.resize(requests.size());
  prepared.n_ = 0;
  prepared.fingerprints_.clear();
  prepared.request_.clear();
  prepared.held_.clear();
  prepared.given_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const UrlRequest& request = requests[i];
    Url& url = prepared.urls_[prepared.n_];
    GivenIdentity given;
    if (!stored_with.empty()) given = stored_with[i];
    std::optional<Fingerprint> fingerprint = given.fingerprint;
    if (fingerprint) {
      // Known from its stored record, or from a message, which may be damaged.
      if (!request.seen_only && !is_of_its_host(*fingerprint, request, given)) fingerprint.reset();
    } else if (!request.key.empty() || !request.queue.empty()) {
      fingerprint = identify(request, url, given, prepared.key_);
    } else if (Url::parse_into(request.url, nullptr, url)) {
      fingerprint = identity_.of_url(url, prepared.key_, given.queue);
    }
    const std::string_view stored = url_to_store(request, url, given);
    if (!fingerprint) {
      answers[i] = Admission::kInvalid;
    } else if (stored.size() > options_.limits.max_url_length) {
      answers[i] = Admission::kTooLong;
    } else if (request.note.size() > options_.limits.max_note_bytes) {
      answers[i] = Admission::kNoteTooLong;
    } else if (request.hold && !request.seen_only) {
      answers[i] = Admission::kHeld;
      prepared.held_.push_back({i, *fingerprint, std::string(stored), std::move(given)});
    } else {
      answers[i] = Admission::kSeen;
      prepared.fingerprints_.push_back(*fingerprint);
      prepared.request_.push_back(i);
      if (has_any(given)) prepared.given_.emplace_back(prepared.n_, std::move(given));
      ++prepared.n_;
    }
  }
  if (prepared.flags_size_ < prepared.n_) {
    prepared.flags_size_ = std::max(prepared.n_, 2 * prepared.flags_size_);
    prepared.flags_ = std::make_unique<bool[]>(prepared.flags_size_);
  }
  return options_.exact ? find_known(prepared) : Result<void>{};
}

// A record never leaves the ledger, so a positive answer stays valid inside the gate. Fingerprints
// not found are looked up again there.
Result<void> AdmissionController::find_known(PreparedUrls& prepared) {
  prepared.known_.assign(prepared.n_, 0);
  const std::span<bool> maybe(prepared.flags_.get(), prepared.n_);
  partitions_.only().contains_batch(prepared.fingerprints_, maybe);
  std::vector<std::size_t> asked;
  std::vector<Fingerprint> keys;
  for (std::size_t i = 0; i < prepared.n_; ++i) {
    if (!maybe[i]) continue;
    if (cache_.contains(prepared.fingerprints_[i])) {
      prepared.known_[i] = 1;
    } else {
      asked.push_back(i);
      keys.push_back(prepared.fingerprints_[i]);
    }
  }
  if (keys.empty()) return {};
  const auto found = std::make_unique<bool[]>(keys.size());
  if (auto read = store_.find_in_ledger(keys, {found.get(), keys.size()}); !read) return read;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) continue;
    prepared.known_[asked[i]] = 1;
    checked_.fetch_add(1, std::memory_order_relaxed);
    cache_.add(keys[i]);
  }
  return {};
}

Result<bool> AdmissionController::is_new_exactly(Fingerprint key, bool told_new) {
  if (!claims_.claim(key)) {
    // The filter called the claim's owner "seen" because of this operation's bits: that was not a
    // false positive, so take its count back.
    if (told_new) averted_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  if (told_new) return true;
  checked_.fetch_add(1, std::memory_order_relaxed);
  bool found = false;
  if (auto read = store_.find_in_ledger({&key, 1}, {&found, 1}); !read) {
    claims_.release(key);
    return tl::unexpected(read.error());
  }
  if (found) {
    claims_.release(key);
  } else {
    averted_.fetch_add(1, std::memory_order_relaxed);
  }
  return !found;
}

// In exact mode, false for a URL that is being admitted at the moment: GroupWriter::hold_links()
// checks it again.
Result<bool> AdmissionController::is_known(Fingerprint key) const {
  const Partition* const partition = partitions_.admitting(identity_.bucket_of(key.high));
  if (partition == nullptr || !partition->contains(key)) return false;
  if (!options_.exact) return true;
  bool found = false;
  if (auto read = store_.find_in_ledger({&key, 1}, {&found, 1}); !read)
    return tl::unexpected(read.error());
  return found;
}

Result<void> AdmissionController::admit(std::span<const UrlRequest> requests,
                                        PreparedUrls& prepared, std::string_view parent,
                                        std::span<Admission> answers, Operation& operation) {
  const std::size_t n = prepared.n_;
  assert(answers.size() == requests.size() && n + prepared.held_.size() <= requests.size());
  assert(prepared.flags_size_ >= n && prepared.request_.size() == n);
  assert(!options_.exact || prepared.known_.size() == n);
  operation.invalid += requests.size() - n - prepared.held_.size();
  for (const PreparedUrls::Held& link : prepared.held_) {
    if (!partitions_.is_open(identity_.bucket_of(link.fingerprint.high))) {
      answers[link.request] = Admission::kForwarded;
      forward(requests[link.request], link.fingerprint, &link.given, parent, operation);
      continue;
    }
    // An admitted URL waits or is done: it need not be held.
    const auto known = is_known(link.fingerprint);
    if (!known) return tl::unexpected(known.error());
    if (*known) {
      answers[link.request] = Admission::kSeen;
      ++operation.seen;
    } else {
      hold(requests[link.request], link, parent, operation);
    }
  }
  const std::span<bool> is_new(prepared.flags_.get(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t depth = requests[prepared.request_[i]].depth;
    if (depth > 0 || depths_.any_deeper(depth)) depths_.prefetch(prepared.fingerprints_[i]);
  }
  insert(prepared);
  prepared.winners_.clear();
  auto given = prepared.given_.begin();
  for (std::size_t i = 0; i < n; ++i) {
    const Fingerprint key = prepared.fingerprints_[i];
    const std::size_t request = prepared.request_[i];
    while (given != prepared.given_.end() && given->first < i)
      ++given;
    const GivenIdentity* const own =
        given != prepared.given_.end() && given->first == i ? &given->second : nullptr;
    if (options_.exact) {
      bool fresh = false;
      if (!prepared.known_[i]) {
        auto answer = is_new_exactly(key, is_new[i]);
        if (!answer) return tl::unexpected(answer.error());
        fresh = *answer;
      }
      is_new[i] = fresh;
    }
    if (forwarded_ && prepared.foreign_[i]) {
      answers[request] = Admission::kForwarded;
      forward(requests[request], key, own, parent, operation);
    } else if (requests[request].seen_only) {
      if (is_new[i]) {
        answers[request] = Admission::kNew;
        operation.seen_only.push_back(key);
      } else {
        ++operation.seen;
      }
    } else if (is_new[i] || requests[request].again) {
      // A1: the filter, or the claim, said so to this call alone.
      answers[request] = Admission::kNew;
      if (!requests[request].not_before) {
        prepared.winners_.push_back(
            {.host = host_of_winner(requests[request], prepared.urls_[i], own),
             .rank = priority_rank(requests[request].priority),
             .index = static_cast<std::uint32_t>(i),
             .given = own,
             .recrawl = !is_new[i]});
      } else {
        add_winner(requests[request], !is_new[i], prepared.urls_[i], own, key, parent, operation);
      }
    } else {
      ++operation.seen;
      if (options_.sample && is_sampled(key)) operation.seen_to_check.push_back(key);
    }
  }
  queue_winners(requests, prepared, parent, operation);
  note_depths(requests, prepared, operation);
  return {};
}

void AdmissionController::insert(PreparedUrls& prepared) {
  if (partitions_.is_shared()) return insert_by_bucket(prepared);
  partitions_.only().insert_batch(prepared.fingerprints_, {prepared.flags_.get(), prepared.n_});
}

void AdmissionController::insert_by_bucket(PreparedUrls& prepared) {
  const std::size_t n = prepared.n_;
  const auto bucket_of = [&](std::uint32_t i) {
    return identity_.bucket_of(prepared.fingerprints_[i].high);
  };
  prepared.foreign_.assign(n, 0);
  prepared.order_.resize(n);
  std::iota(prepared.order_.begin(), prepared.order_.end(), 0u);
  // In their order within a bucket: the first of two equal ones is the new one.
  std::ranges::stable_sort(prepared.order_, {}, bucket_of);
  if (prepared.fresh_size_ < n) {
    prepared.fresh_ = std::make_unique<bool[]>(n);
    prepared.fresh_size_ = n;
  }
  for (std::size_t first = 0, end = 0; first < n; first = end) {
    const std::uint32_t bucket = bucket_of(prepared.order_[first]);
    prepared.keys_.clear();
    for (; end < n && bucket_of(prepared.order_[end]) == bucket; ++end)
      prepared.keys_.push_back(prepared.fingerprints_[prepared.order_[end]]);
    Partition* const partition = partitions_.admitting(bucket);
    const std::span<bool> fresh(prepared.fresh_.get(), end - first);
    if (partition != nullptr) {
      partition->insert_batch(prepared.keys_, fresh);
    } else {
      std::ranges::fill(fresh, false);
    }
    for (std::size_t i = first; i < end; ++i) {
      prepared.flags_[prepared.order_[i]] = fresh[i - first];
      prepared.foreign_[prepared.order_[i]] = partition == nullptr ? 1 : 0;
    }
  }
}

// What the owner must decide again, such as `again`, is always sent. The request of a URL that was
// stored before has neither its key nor its queue.
void AdmissionController::forward(const UrlRequest& request, Fingerprint fingerprint,
                                  const GivenIdentity* given, std::string_view parent,
                                  Operation& operation) {
  const bool plain = !request.again && !request.hold && !request.seen_only;
  if (plain && !forwarded_->note(fingerprint, request.depth)) {
    ++operation.seen;
    return;
  }
  auto forwarded = Operation::Forwarded::of(identity_.bucket_of(fingerprint.high), request,
                                            parent_of(request, parent));
  if (given != nullptr && given->fingerprint && request.key.empty()) forwarded.given = *given;
  if (given != nullptr && given->named) forwarded.queue = given->queue;
  operation.forward(std::move(forwarded));
}

bool AdmissionController::is_of_its_host(Fingerprint fingerprint, const UrlRequest& request,
                                         const GivenIdentity& given) const {
  if (!partitions_.is_shared()) return true;
  const HostId host = identity_.host(queue_of({.url = request.url, .given = given}));
  return identity_.bucket_of(host) == identity_.bucket_of(fingerprint.high);
}

// In two passes with full_fence() in between: see WaitingDepths::mark().
void AdmissionController::note_depths(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                                      Operation& operation) {
  const std::size_t n = prepared.n_;
  const bool* const is_new = prepared.flags_.get();
  bool any = false;
  prepared.marked_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const UrlRequest& request = requests[prepared.request_[i]];
    const Fingerprint key = prepared.fingerprints_[i];
    if (request.seen_only) continue;  // neither waits nor leads to URLs
    if (forwarded_ && prepared.foreign_[i]) continue;
    if (is_new[i] || request.again) {
      if (request.depth == 0) continue;
      if (!is_new[i]) depths_.unmark(key);
      depths_.add(key, request.depth);
    } else if (depths_.any_deeper(request.depth)) {
      prepared.marked_[i] = depths_.mark(key, request.depth) ? 1 : 0;
    } else {
      continue;
    }
    any = true;
  }
  if (!any) return;
  WaitingDepths::full_fence();
  for (std::size_t i = 0; i < n; ++i) {
    const UrlRequest& request = requests[prepared.request_[i]];
    const Fingerprint key = prepared.fingerprints_[i];
    if (request.seen_only || (forwarded_ && prepared.foreign_[i])) continue;
    if (is_new[i]) {
      const auto marked = depths_.marked(key);
      if (marked && *marked < request.depth) operation.lowered_depths.emplace_back(key, *marked);
    } else if (!request.again && depths_.any_deeper(request.depth) &&
               depths_.is_deeper(key, request.depth, prepared.marked_[i] != 0)) {
      operation.lowered_depths.emplace_back(key, request.depth);
    }
  }
}

UrlRecord AdmissionController::record_of(const UrlRequest& request, bool recrawl, const Url& url,
                                         const GivenIdentity* given,
                                         std::string_view parent) const {
  static const GivenIdentity kNone;
  const GivenIdentity& own = given != nullptr ? *given : kNone;
  return {.url = url_to_store(request, url, own),
          .parent = std::string(parent_of(request, parent)),
          .depth = request.depth,
          .redirects = request.redirects,
          .recrawl = recrawl,
          .note = request.note,
          .given = own};
}

HostId AdmissionController::host_of_winner(const UrlRequest& request, const Url& url,
                                           const GivenIdentity* given) const {
  if (given == nullptr) return identity_.host(politeness_group(url));
  return identity_.host(queue_of({.url = url_to_store(request, url, *given), .given = *given}));
}

void AdmissionController::add_winner(const UrlRequest& request, bool recrawl, const Url& url,
                                     const GivenIdentity* given, Fingerprint fingerprint,
                                     std::string_view parent, Operation& operation) const {
  operation.add({.fingerprint = fingerprint,
                 .host = host_of_winner(request, url, given),
                 .priority = request.priority,
                 .depth = request.depth,
                 .not_before = request.not_before ? options_.from_wall(*request.not_before) : 0,
                 .record = encode_record(record_of(request, recrawl, url, given, parent))});
}

// By host, so that those of a bucket and those of a shard follow each other; in the order of the
// host's queue, so that the memtable has less to sort. The sequences follow that order.
void AdmissionController::queue_winners(std::span<const UrlRequest> requests,
                                        PreparedUrls& prepared, std::string_view parent,
                                        Operation& operation) const {
  using Winner = PreparedUrls::Winner;
  if (prepared.winners_.empty()) return;
  const auto add_alone = [&](const Winner& winner) {
    add_winner(requests[prepared.request_[winner.index]], winner.recrawl,
               prepared.urls_[winner.index], winner.given, prepared.fingerprints_[winner.index],
               parent, operation);
  };
  // A recrawl is not for a run, and the others must not come before it.
  if (std::ranges::any_of(prepared.winners_, &Winner::recrawl)) {
    std::ranges::for_each(prepared.winners_, add_alone);
    return;
  }
  std::ranges::sort(prepared.winners_, [](const Winner& a, const Winner& b) {
    return std::tie(a.host, a.rank, a.index) < std::tie(b.host, b.rank, b.index);
  });
  constexpr std::size_t kTypicalUrl = 128;
  auto run = std::make_shared<QueueRun>();
  run->reserve(prepared.winners_.size(), prepared.winners_.size() * kTypicalUrl);
  for (const Winner& winner : prepared.winners_) {
    if (run->is_full()) {  // the rest comes after it
      add_alone(winner);
      continue;
    }
    const UrlRequest& request = requests[prepared.request_[winner.index]];
    const Url& url = prepared.urls_[winner.index];
    encode_record_into(prepared.record_, record_of(request, false, url, winner.given, parent));
    run->add(identity_.bucket_of(winner.host), identity_.shard_of(winner.host, options_.shards),
             prepared.fingerprints_[winner.index], winner.host, request.priority, request.depth,
             prepared.record_);
  }
  operation.queue(std::move(run));
}

std::string_view AdmissionController::parent_of(const UrlRequest& request,
                                                std::string_view parent) const {
  if (!request.parent.empty()) parent = request.parent;
  return parent.size() > options_.limits.max_url_length ? std::string_view() : parent;
}

void AdmissionController::hold(const UrlRequest& request, const PreparedUrls::Held& link,
                               std::string_view parent, Operation& operation) const {
  const std::string url = encode_record({.url = link.url,
                                         .parent = std::string(parent_of(request, parent)),
                                         .depth = request.depth,
                                         .redirects = request.redirects,
                                         .note = request.note,
                                         .given = link.given});
  operation.hold({.fingerprint = link.fingerprint,
                  .state = SetAsideState::kHeld,
                  .was_queued = false,
                  .value = encode_set_aside({.state = SetAsideState::kHeld,
                                             .was_queued = false,
                                             .reason = request.hold->reason,
                                             .rules = request.hold->rules,
                                             .since = to_milliseconds(options_.wall_clock()),
                                             .priority = request.priority,
                                             .url_record = url})});
}

void AdmissionController::committed(const Operation& operation) {
  if (!options_.exact) return;
  for (const Fingerprint key : operation.seen_only) {
    cache_.add(key);
    claims_.release(key);
  }
  if (operation.queued) {
    for (const Fingerprint key : std::as_const(*operation.queued).fingerprints()) {
      cache_.add(key);
      claims_.release(key);
    }
  }
  for (const auto& url : operation.admitted) {
    cache_.add(url.fingerprint);
    // A recrawl has no claim of its own; a claim on its fingerprint would be another operation's.
    if (!is_recrawl_record(url.record)) claims_.release(url.fingerprint);
  }
}

}  // namespace trawl
