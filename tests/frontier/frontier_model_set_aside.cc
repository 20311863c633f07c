// FrontierModel: URLs that are held and those that failed.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "base/wall_time.h"
#include "tests/frontier/frontier_model.h"

namespace trawl::test {

namespace {

// As GroupWriter has it.
constexpr std::uint64_t kHeldLately = 1u << 14;

}  // namespace

Fingerprint FrontierModel::fingerprint(const std::string& url) const {
  return (*options_->testing.hash)(Canonicalizer{options_->seen.profile}.key(*Url::parse(url)));
}

void FrontierModel::count_set_aside(SetAsideState state, int by) {
  auto& count = state == SetAsideState::kHeld ? totals_.held : totals_.set_aside_failed;
  count += static_cast<std::uint64_t>(by);
}

void FrontierModel::forget_set_aside(Fingerprint key) {
  const auto found = aside_.find(key);
  if (found == aside_.end()) return;
  count_set_aside(found->second.state, -1);
  aside_.erase(found);
  held_lately_.erase(key.low % kHeldLately);
}

void FrontierModel::set_aside(ModelAside aside, bool always) {
  const Fingerprint key = fingerprint(aside.url);
  const auto found = aside_.find(key);
  if (found != aside_.end()) {
    if (!aside.was_queued) return;
    count_set_aside(found->second.state, -1);
  } else if (!always) {
    const std::uint64_t most = options_->store.max_set_aside / (aside.was_queued ? 1 : 2);
    if (aside_.size() >= most) {
      ++totals_.not_set_aside;
      return;
    }
  }
  count_set_aside(aside.state, 1);
  aside_[key] = std::move(aside);
}

void FrontierModel::hold_link(const UrlRequest& request, const std::string& url,
                              const std::string& parent) {
  const Fingerprint key = fingerprint(url);
  Fingerprint& lately = held_lately_[key.low % kHeldLately];
  if (lately == key) return;
  lately = key;
  set_aside({.url = url,
             .state = SetAsideState::kHeld,
             .reason = std::string(request.hold->reason),
             .rules = request.hold->rules,
             .since = wall(),
             .was_queued = false,
             .priority = request.priority,
             .depth = request.depth,
             .redirects = request.redirects,
             .parent = parent},
            false);
}

void FrontierModel::set_url_aside(const std::string& name, SetAsideState state,
                                  const HoldReason& reason, int status) {
  const ModelUrl& url = urls_.at(name);
  set_aside({.url = name,
             .state = state,
             .reason = std::string(reason.reason),
             .rules = reason.rules,
             .status = status,
             .since = wall(),
             .was_queued = true,
             .priority = url.priority,
             .depth = url.stored_depth,  // what is found with it comes later
             .redirects = url.redirects,
             .parent = url.parent},
            reason.always);
}

void FrontierModel::hold(std::uint64_t id, const HoldReason& reason) {
  const auto url = end(id, {.requested = false}, true);
  if (!url) {
    ++totals_.repeated;
    return;
  }
  ++totals_.completed;
  ++totals_.skipped;
  urls_.at(*url).state = ModelUrl::kDone;
  set_url_aside(*url, SetAsideState::kHeld, reason, 0);
}

std::uint64_t FrontierModel::retry(const RetryWhich& which, const std::vector<SetAsideUrl>& order) {
  std::vector<ModelAside> chosen;
  for (const SetAsideUrl& url : order) {
    const auto found = aside_.find(fingerprint(url.url));
    const bool named = which.key.empty() || which.key == url.url;
    if (found != aside_.end() && named && which.matches(url)) chosen.push_back(found->second);
  }
  // Links are offered first.
  for (const ModelAside& link : chosen) {
    if (link.was_queued) continue;
    const UrlRequest request{.url = link.url,
                             .priority = link.priority,
                             .depth = link.depth,
                             .redirects = link.redirects};
    admit(request, *Url::parse(link.url), link.parent);
  }
  for (const ModelAside& aside : chosen) {
    if (!aside.was_queued) continue;
    forget_set_aside(fingerprint(aside.url));
    ++totals_.requeued;
    ModelUrl& url = urls_.at(aside.url);
    url.state = ModelUrl::kQueued;
    url.attempts = 0;
    url.place = next_place_++;
    queue(aside.url);
  }
  return chosen.size();
}

Mismatches FrontierModel::check_set_aside(const std::vector<SetAsideUrl>& told) const {
  Mismatches wrong;
  std::set<std::string> names;
  for (const SetAsideUrl& url : told) {
    if (!names.insert(url.url).second) wrong.push_back(url.url + " is set aside twice");
    const auto found = aside_.find(fingerprint(url.url));
    if (found == aside_.end()) {
      wrong.push_back(url.url + " is set aside");
      continue;
    }
    const ModelAside& aside = found->second;
    const auto actual = std::tuple(url.url, static_cast<int>(url.state), url.reason, url.rules,
                                   url.status, to_milliseconds(url.since), url.was_queued,
                                   url.priority, url.depth, url.redirects, url.parent);
    const auto expected = std::tuple(aside.url, static_cast<int>(aside.state), aside.reason,
                                     aside.rules, aside.status, aside.since, aside.was_queued,
                                     aside.priority, aside.depth, aside.redirects, aside.parent);
    if (actual != expected)
      wrong.push_back(fmt::format("set aside is {} and should be {}", actual, expected));
  }
  for (const auto& [key, aside] : aside_) {
    if (!names.contains(aside.url)) wrong.push_back(aside.url + " is not set aside");
    const auto known = urls_.find(aside.url);
    if (aside.was_queued != (known != urls_.end()) ||
        (aside.was_queued && known->second.state != ModelUrl::kDone))
      wrong.push_back(aside.url + " is set aside and not done, in the model");
  }
  return wrong;
}

}  // namespace trawl::test
