// MemoryState: offering, deferring, setting aside and looking up URLs.
#include <algorithm>
#include <utility>

#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/common/queue_names.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

namespace {

// The prefix keeps these apart from canonical keys.
std::string key_of_bytes(std::string_view key) {
  return std::string(1, '\0').append(key);
}

}  // namespace

std::optional<std::string> MemoryState::identify(const UrlRequest& request, MemoryUrl& url) const {
  if (request.url.empty() || request.queue.size() > kMaxQueueBytes) return std::nullopt;
  const auto parsed = Url::parse(request.url);
  if (request.key.empty() && !parsed) return std::nullopt;
  const std::string host = parsed ? politeness_group(*parsed) : host_of_any(request.url);
  url.queue = request.queue.empty() ? host : request.queue;
  if (url.queue.empty()) return std::nullopt;
  url.named = url.queue != host;
  if (!request.key.empty()) {
    url.url = request.url;
    return key_of_bytes(request.key);
  }
  url.url = parsed->href_without_fragment();
  return canonicalizer_.key(*parsed);
}

std::vector<Admission> MemoryState::offer(std::span<const UrlRequest> requests,
                                          std::string_view parent) {
  std::vector<Admission> answers;
  std::vector<MemoryUrl> urls;
  for (const UrlRequest& request : requests) {
    MemoryUrl& url = urls.emplace_back();
    auto key = identify(request, url);
    answers.push_back(!key                                              ? Admission::kInvalid
                      : url.url.size() > options_.limits.max_url_length ? Admission::kTooLong
                      : request.note.size() > options_.limits.max_note_bytes
                          ? Admission::kNoteTooLong
                          : Admission::kSeen);
    if (answers.back() != Admission::kSeen) {
      ++totals_.invalid;
      continue;
    }
    url.key = *std::move(key);
    url.parent = request.parent.empty() ? parent : request.parent;
    if (url.parent.size() > options_.limits.max_url_length) url.parent.clear();
    url.note = request.note;
    url.place.priority = request.priority;
    url.depth = request.depth;
    url.redirects = request.redirects;
  }
  // Links are held before URLs are admitted, as in the embedded frontier.
  for (const bool held : {true, false}) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const UrlRequest& request = requests[i];
      const bool holds = request.hold.has_value() && !request.seen_only;
      if (answers[i] != Admission::kSeen || holds != held) continue;
      const auto known = known_.find(urls[i].key);
      if (known != known_.end() && (held || request.seen_only || !request.again)) {
        if (!held && !request.seen_only)
          known->second.depth = std::min(known->second.depth, request.depth);
        ++totals_.seen;
      } else if (request.seen_only) {
        answers[i] = Admission::kNew;
        ++totals_.admitted;
        ++totals_.seen_only;
        forget_aside(aside_.find(urls[i].key));
        known_[urls[i].key];
      } else if (held) {
        answers[i] = Admission::kHeld;
        put_aside({.url = std::move(urls[i]),
                   .was_queued = false,
                   .reason = std::string(request.hold->reason.substr(0, kMaxReasonBytes)),
                   .rules = request.hold->rules});
      } else {
        answers[i] = Admission::kNew;
        admit(std::move(urls[i]), known != known_.end(), request.not_before);
      }
    }
  }
  return answers;
}

void MemoryState::admit(MemoryUrl url, bool again, std::optional<SystemTime> not_before) {
  ++totals_.admitted;
  totals_.readmitted += again ? 1 : 0;
  totals_.deepest = std::max<std::uint64_t>(totals_.deepest, url.depth);
  url.recrawl = again;
  forget_aside(aside_.find(url.key));
  KnownUrl& known = known_[url.key];
  known.depth = known.noted_depth = url.depth;
  const auto waiting = std::make_shared<MemoryUrl>(std::move(url));
  known.waiting.push_back(waiting);
  not_before ? defer(waiting, clock_.from_wall(*not_before)) : queue(waiting);
}

void MemoryState::queue(const MemoryUrlPointer& url) {
  url->place.number = next_place_++;
  put_back(url);
}

void MemoryState::put_back(const MemoryUrlPointer& url) {
  url->state = MemoryUrl::State::kQueued;
  MemoryHost& host = add_host(url->queue);
  // A queue with the name of a host is that host's: the first URL decides which of the two it is.
  if (!std::exchange(host.had_urls, true)) host.named = url->named;
  host.queue.emplace(url->place, url);
}

void MemoryState::defer(const MemoryUrlPointer& url, std::int64_t not_before) {
  url->state = MemoryUrl::State::kDeferred;
  url->not_before = not_before;
  url->place.number = next_place_++;
  deferred_.emplace(std::pair(not_before, url->place.number), url);
  count_deferred(*url, true);
}

// Queues the deferred URLs that are due, in the order of their times.
void MemoryState::promote_due() {
  const std::int64_t now = clock_.now();
  while (!deferred_.empty() && deferred_.begin()->first.first <= now) {
    const auto url = deferred_.extract(deferred_.begin()).mapped();
    count_deferred(*url, false);
    queue(url);
  }
}

void MemoryState::count_deferred(const MemoryUrl& url, bool more) {
  const std::uint64_t by = more ? 1 : ~std::uint64_t{0};
  totals_.deferred += by;
  if (url.recrawl && url.attempts == 0) totals_.recrawls_deferred += by;
}

void MemoryState::end_url(const MemoryUrlPointer& url) {
  url->state = MemoryUrl::State::kEnded;
  std::erase(known_[url->key].waiting, url);
}

void MemoryState::put_aside(MemorySetAside aside) {
  aside.since = to_milliseconds(options_.wall_clock());
  std::string key = aside.url.key;
  const auto [found, is_new] = aside_.try_emplace(std::move(key));
  // A held link stays unchanged.
  if (!is_new && !aside.was_queued) return;
  if (!is_new)
    --(found->second.state == SetAsideState::kHeld ? totals_.held : totals_.set_aside_failed);
  ++(aside.state == SetAsideState::kHeld ? totals_.held : totals_.set_aside_failed);
  found->second = std::move(aside);
}

MemoryState::Aside::iterator MemoryState::forget_aside(Aside::iterator aside) {
  if (aside == aside_.end()) return aside;
  --(aside->second.state == SetAsideState::kHeld ? totals_.held : totals_.set_aside_failed);
  return aside_.erase(aside);
}

SetAsideUrl MemoryState::to_set_aside_url(const MemorySetAside& aside,
                                          const std::string& key) const {
  return {.state = aside.state,
          .url = aside.url.url,
          .host = aside.url.queue,
          .reason = aside.reason,
          .rules = aside.rules,
          .status = aside.status,
          .since = from_milliseconds(aside.since),
          .was_queued = aside.was_queued,
          .priority = aside.url.place.priority,
          .depth = aside.url.depth,
          .redirects = aside.url.redirects,
          .parent = aside.url.parent,
          .note = aside.url.note,
          .position = key};
}

std::vector<SetAsideUrl> MemoryState::set_aside(std::string_view after, std::size_t limit) const {
  std::vector<SetAsideUrl> urls;
  for (auto next = aside_.upper_bound(after); next != aside_.end() && urls.size() < limit; ++next)
    urls.push_back(to_set_aside_url(next->second, next->first));
  return urls;
}

std::uint64_t MemoryState::retry(const RetryWhich& which) {
  std::string as_url;
  if (const auto url = Url::parse(which.key)) as_url = canonicalizer_.key(*url);
  const std::string as_bytes = key_of_bytes(which.key);
  std::vector<MemorySetAside> chosen;
  for (auto next = aside_.begin(); next != aside_.end();) {
    const auto& [key, aside] = *next;
    const bool named = which.key.empty() || key == as_url || key == as_bytes;
    if (!named || !which.matches(to_set_aside_url(aside, key))) {
      ++next;
      continue;
    }
    chosen.push_back(aside);
    next = forget_aside(next);
  }
  // Held links are offered first.
  for (MemorySetAside& link : chosen) {
    if (!link.was_queued) admit(std::move(link.url), false, std::nullopt);
  }
  for (MemorySetAside& aside : chosen) {
    if (!aside.was_queued) continue;
    ++totals_.requeued;
    aside.url.attempts = 0;
    const auto url = std::make_shared<MemoryUrl>(std::move(aside.url));
    known_[url->key].waiting.push_back(url);
    queue(url);
  }
  return chosen.size();
}

UrlState MemoryState::lookup(std::string_view url_or_key) const {
  std::optional<UrlState> state;
  if (const auto url = Url::parse(url_or_key)) state = find(canonicalizer_.key(*url));
  if (!state) state = find(key_of_bytes(url_or_key));
  return std::move(state).value_or(UrlState{});
}

std::optional<UrlState> MemoryState::find(const std::string& key) const {
  if (const auto found = aside_.find(key); found != aside_.end()) {
    const MemorySetAside& aside = found->second;
    return UrlState{.kind = aside.state == SetAsideState::kHeld ? UrlState::Kind::kHeld
                                                                : UrlState::Kind::kFailed,
                    .host = aside.url.queue,
                    .reason = aside.reason,
                    .status = aside.status,
                    .at = from_milliseconds(aside.since),
                    .depth = aside.url.depth,
                    .redirects = aside.url.redirects,
                    .note = aside.url.note};
  }
  const auto found = known_.find(key);
  if (found == known_.end()) return std::nullopt;
  const KnownUrl& known = found->second;
  if (!known.waiting.empty()) {
    const MemoryUrl& url = *known.waiting.front();
    UrlState state{.kind = UrlState::Kind::kWaiting, .host = url.queue};
    if (url.state == MemoryUrl::State::kLeased || url.state == MemoryUrl::State::kEnding)
      state.kind = UrlState::Kind::kLeased;
    if (url.state == MemoryUrl::State::kDeferred) {
      state.kind = UrlState::Kind::kDeferred;
      state.at = clock_.to_wall(url.not_before);
    }
    return state;
  }
  if (!known.was_done) return UrlState{.kind = UrlState::Kind::kSeen};
  return UrlState{.kind = UrlState::Kind::kDone,
                  .status = known.status,
                  .at = from_milliseconds(known.done),
                  .fetches = known.fetches};
}

}  // namespace trawl
