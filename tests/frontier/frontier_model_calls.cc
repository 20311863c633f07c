// FrontierModelRun: the calls that it makes.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/wall_time.h"
#include "tests/frontier/frontier_model_run.h"

namespace trawl::test {

namespace {

bool is_over(const ModelUrl& url) {
  return url.state == ModelUrl::kDone || url.state == ModelUrl::kDropped;
}

}  // namespace

template <class T>
bool FrontierModelRun::settle(const Result<T>& answer, std::vector<FrontierModel> next) {
  if (answer) {
    model_ = std::move(next.back());
    return true;
  }
  note("  error: " + answer.error().message);
  if (!dead()) {
    ADD_FAILURE() << "an error on a disk that works: " << answer.error().message << "\n"
                  << log_text();
  }
  // On a disk that is dead already nothing can have happened.
  if (!was_struck_) candidates_ = std::move(next);
  broken_ = true;
  return false;
}

void FrontierModelRun::step() {
  was_struck_ = dead();
  switch (below(27)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return offer();
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return lease();
    case 9:
    case 10:
    case 11:
      return complete();
    case 12:
    case 13:
      return fail();
    case 14:
    case 23:
      return end_somehow();
    case 15:
      return change_host();
    case 16:
      return once_in(4) ? drop() : change_host();
    case 17:
      return checkpoint();
    case 18:
      return hold();
    case 19:
      return retry();
    case 20:
    case 21:
    case 22:
      return implementation_.is_durable && !implementation_.ends_follow_links ? complete_meanwhile()
                                                                              : complete();
    default:
      return move_clocks();
  }
}

FrontierModelRun::Offer FrontierModelRun::some_urls(std::size_t most) {
  Offer offer;
  const std::size_t n = below(most + 1);
  for (std::size_t i = 0; i < n; ++i) {
    std::string url = fmt::format("{}://{}/{}{}", "http", kHosts[below(host_count_)], below(pages_),
                                  once_in(5) ? "#part" : "");
    switch (below(30)) {
      case 0:
        url = "not a URL";
        break;
      case 1:
        url += "/" + std::string(300, 'x');
        break;
      case 2:
        url[0] = 'H';
        break;
      default:
        break;
    }
    UrlRequest request{.url = offer.urls.emplace_back(std::move(url))};
    request.priority = static_cast<std::int32_t>(below(3)) - 1;
    request.depth = static_cast<std::uint32_t>(below(6));
    request.redirects = static_cast<std::uint32_t>(below(2));
    if (once_in(4)) request.parent = "http://parent.test/";
    if (once_in(10))
      request.not_before = clocks_.wall() + Milliseconds(static_cast<int>(below(20'000)) - 2'000);
    request.seen_only = once_in(20);
    if (once_in(6)) {
      request.hold =
          HoldReason{.reason = once_in(2) ? "too deep" : "out of scope", .rules = below(3)};
    } else if (const auto known = model_.urls().find(offer.urls.back());
               once_in(3) && known != model_.urls().end() && is_over(known->second) &&
               std::ranges::count(offer.urls, offer.urls.back()) == 1) {
      // With the smallest depth: what the frontier noted of others since is not in the model.
      request.again = true;
      request.depth = 0;
    }
    offer.requests.push_back(request);
  }
  return offer;
}

std::string FrontierModelRun::some_host() {
  return once_in(20) ? "never.test" : kHosts[below(host_count_)];
}

std::uint64_t FrontierModelRun::some_lease() {
  const auto& leases = model_.leases();
  if (leases.empty() || once_in(30)) return 1'000'000'000 + below(100);
  // Mostly one that is open.
  for (int tries = 0; tries < 4; ++tries) {
    const auto& [id, lease] = *std::next(leases.begin(), static_cast<long>(below(leases.size())));
    if (lease.state == ModelLease::kOpen) return id;
  }
  return std::next(leases.begin(), static_cast<long>(below(leases.size())))->first;
}

Outcome FrontierModelRun::some_outcome(std::uint64_t lease) {
  Outcome outcome{.status = 200};
  const auto known = model_.leases().find(lease);
  const bool open = known != model_.leases().end() && known->second.state == ModelLease::kOpen;
  if (open) outcome.requested = !once_in(8);
  if (open && once_in(3)) outcome.started_after = Milliseconds(below(500));
  if (once_in(8)) outcome.error = "it failed";
  if (once_in(8)) outcome.status = 404;
  if (once_in(8)) outcome.reason = "some reason";
  outcome.keep_failed = once_in(4);
  if (once_in(8)) outcome.recrawl_at = clocks_.wall() + Milliseconds(below(20'000));
  return outcome;
}

void FrontierModelRun::offer() {
  const Offer urls = some_urls(once_in(20) ? 60 : 8);
  note(fmt::format("offer {} URLs", urls.requests.size()));
  const auto answers = frontier_->offer(urls.requests);
  FrontierModel next = model_;
  const auto expected = next.offer(urls.requests);
  if (settle(answers, {next}) && *answers != expected)
    ADD_FAILURE() << "other admissions than expected\n" << log_text();
}

void FrontierModelRun::lease() {
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard) {
    FrontierModel next = model_;
    next.begin_lease();
    const auto answer = frontier_->next_due(shard);
    const SteadyTime due = answer ? answer->value_or(SteadyTime::max()) : SteadyTime::max();
    if (!broken_ && next.has_work(shard) && due > clocks_.now()) {
      ADD_FAILURE() << "shard " << shard << " has work that next_due() does not know of\n"
                    << log_text();
    }
    const std::size_t max = once_in(3) ? 1'000 : below(5);
    const auto leases = frontier_->lease({.max = max, .shard = shard});
    std::string told;
    if (leases) {
      for (const auto& lease : *leases)
        told += fmt::format(" {}={}", lease.id, lease.url);
    }
    note(fmt::format("lease {} of shard {} at {}:{}", max, shard,
                     clocks_.now().time_since_epoch().count() / 1'000'000, told));
    if (leases) expect_none(next.lease(max, *leases, shard), "lease");
    if (!settle(leases, {next})) return;
  }
}

void FrontierModelRun::complete() {
  const std::uint64_t id = some_lease();
  const Outcome outcome = some_outcome(id);
  const Offer links = some_urls(6);
  note(fmt::format("complete {} error '{}' requested {} recrawl {} with {} links", id,
                   outcome.error, outcome.requested, outcome.recrawl_at.has_value(),
                   links.requests.size()));
  const auto answers = frontier_->complete(id, outcome, links.requests);
  if (!model_.knows(id)) {
    if (answers) ADD_FAILURE() << "completed what was never leased\n" << log_text();
    broken_ |= !was_struck_ && dead();
    return;
  }
  std::vector<FrontierModel> next;
  const std::string url = model_.leases().at(id).url;
  FrontierModel ended = model_;
  static_cast<void>(ended.complete(id, outcome, {}));
  const bool ends = ended.urls().at(url).state != model_.urls().at(url).state;
  if (implementation_.ends_follow_links && ends) {
    next.push_back(model_);
    next.back().offer(links.requests, url);
  }
  next.push_back(model_);
  const auto expected = next.back().complete(id, outcome, links.requests);
  if (settle(answers, std::move(next)) && *answers != expected)
    ADD_FAILURE() << "other admissions than expected\n" << log_text();
}

void FrontierModelRun::fail() {
  const std::uint64_t id = some_lease();
  const auto reason = static_cast<FailureReason>(below(6));
  std::optional<Milliseconds> retry_after;
  if (once_in(4) && reason != FailureReason::kPermanent)
    retry_after = Milliseconds(once_in(8) ? 0 : below(15'000));
  Outcome outcome{.status = once_in(2) ? 404 : 0};
  if (once_in(3)) outcome.error = "it failed";
  if (once_in(6)) outcome.recrawl_at = clocks_.wall() + Milliseconds(below(20'000));
  note(fmt::format("fail {} for {} retry_after {}", id, static_cast<int>(reason),
                   retry_after.value_or(Milliseconds(-1)).count()));
  const auto verdict = frontier_->fail(id, reason, retry_after, outcome);
  if (!model_.knows(id)) {
    if (verdict) ADD_FAILURE() << "failed what was never leased\n" << log_text();
    return;
  }
  FrontierModel next = model_;
  if (verdict) {
    expect_none(next.fail(id, reason, retry_after, outcome, *verdict), "fail");
  } else {
    next.fail_unheard(id, reason, retry_after, outcome, 0);
    if (!was_struck_) unheard_host_ = model_.urls().at(model_.leases().at(id).url).host;
  }
  settle(verdict, {next});
}

void FrontierModelRun::hold() {
  const std::uint64_t id = some_lease();
  const HoldReason reason{
      .reason = once_in(2) ? "too deep" : "robots", .rules = below(3), .always = once_in(4)};
  note(fmt::format("hold {} for {}{}", id, reason.reason, reason.always ? ", always" : ""));
  const auto held = frontier_->hold(id, reason);
  if (!model_.knows(id)) {
    if (held) ADD_FAILURE() << "held what was never leased\n" << log_text();
    broken_ |= !was_struck_ && dead();
    return;
  }
  FrontierModel next = model_;
  next.hold(id, reason);
  settle(held, {next});
}

void FrontierModelRun::retry() {
  RetryWhich which;
  const auto& aside = model_.set_aside();
  switch (below(6)) {
    case 0:
      which.state = once_in(2) ? SetAsideState::kHeld : SetAsideState::kFailed;
      break;
    case 1:
      which.reason = once_in(2) ? "too deep" : "status";
      break;
    case 2:
      which.host = some_host();
      break;
    case 3:
      which.first_status = which.last_status = 404;
      break;
    case 4:
      break;
    default:
      if (aside.empty()) break;
      which.key = std::next(aside.begin(), static_cast<long>(below(aside.size())))->second.url;
  }
  note(fmt::format("retry state {} url '{}' host '{}' reason '{}'",
                   which.state ? static_cast<int>(*which.state) : -1, which.key, which.host,
                   which.reason));
  const auto order = listed().value_or(std::vector<SetAsideUrl>());
  const auto queued = frontier_->retry(which);
  FrontierModel next = model_;
  const std::uint64_t expected = next.retry(which, order);
  if (settle(queued, {next}) && *queued != expected)
    ADD_FAILURE() << "queued " << *queued << " URLs, not " << expected << "\n" << log_text();
}

std::optional<std::vector<SetAsideUrl>> FrontierModelRun::listed() {
  std::vector<SetAsideUrl> urls;
  for (std::string after;;) {
    const auto some = frontier_->set_aside(after, 1 + below(50));
    if (!some) return std::nullopt;
    if (some->empty()) return urls;
    urls.insert(urls.end(), some->begin(), some->end());
    after = urls.back().position;
  }
}

void FrontierModelRun::end_somehow() {
  const std::uint64_t id = some_lease();
  // The lease stays open, if it is.
  const auto keep = [&](const char* name, auto call, auto call_of_model, auto... arguments) {
    note(fmt::format("{} {}", name, id));
    const auto done = (*frontier_.*call)(id, arguments...);
    if (broken_ && !done) return;
    if ((model_.*call_of_model)(id, arguments...) != done.has_value())
      ADD_FAILURE() << name << "() is wrong\n" << log_text();
  };
  if (once_in(2)) {
    const Milliseconds started_after(once_in(2) ? 0 : below(500));
    return keep("fetched", &Frontier::fetched, &FrontierModel::fetched, started_after);
  }
  if (once_in(2)) return keep("renew", &Frontier::renew, &FrontierModel::renew);
  std::optional<SteadyTime> next_start;
  Milliseconds started_after(0);
  if (once_in(2)) {
    next_start = clocks_.now() + Milliseconds(below(3'000));
    started_after = Milliseconds(below(300));
  }
  note(fmt::format("release {} for {}", id, next_start.has_value()));
  const auto released = frontier_->release(id, next_start, started_after);
  if (broken_ && !released) return;
  if (model_.release(id, next_start, started_after) != released.has_value())
    ADD_FAILURE() << "release() is wrong\n" << log_text();
}

void FrontierModelRun::change_host() {
  const std::string host = some_host();
  FrontierModel next = model_;
  Result<void> done;
  switch (below(5)) {
    case 0: {
      const Milliseconds delay(std::array{0, 50, 2'000}[below(3)]);
      note(fmt::format("set_host_delay {} {}", host, delay.count()));
      done = frontier_->set_host(host, {.delay = delay});
      next.set_host(host, {.delay = delay});
      break;
    }
    case 1: {
      const auto leases = static_cast<std::uint32_t>(below(4));
      note(fmt::format("set_host_leases {} {}", host, leases));
      done = frontier_->set_host(host, {.leases = leases});
      next.set_host(host, {.leases = leases});
      break;
    }
    case 2: {
      std::optional<std::uint64_t> limit;
      if (!once_in(2)) limit = below(6);
      note(fmt::format("set_host_limit {} {}", host, limit.value_or(99)));
      done = frontier_->set_host(host, {.limit = limit.value_or(HostSettings::kNoLimit)});
      next.set_host(host, {.limit = limit.value_or(HostSettings::kNoLimit)});
      break;
    }
    case 3: {
      const auto until = clocks_.wall() + Milliseconds(static_cast<int>(below(8'000)) - 1'000);
      note(fmt::format("block_host {}", host));
      done = frontier_->set_host(host, {.blocked_until = until});
      next.set_host(host, {.blocked_until = until});
      break;
    }
    default:
      note(fmt::format("revive_host {}", host));
      done = frontier_->set_host(host, {.blocked_until = HostSettings::kNotBlocked});
      next.set_host(host, {.blocked_until = HostSettings::kNotBlocked});
  }
  settle(done, {next});
}

void FrontierModelRun::drop() {
  const std::string host = some_host();
  note(fmt::format("drop_host {}", host));
  const auto dropped = frontier_->drop_host(host);
  FrontierModel deferred = model_;  // which go first
  deferred.drop_host(host, true);
  FrontierModel all = model_;
  const std::uint64_t expected = all.drop_host(host);
  if (settle(dropped, {deferred, all}) && *dropped != expected) {
    ADD_FAILURE() << "dropped " << *dropped << " URLs, not " << expected << "\n" << log_text();
  }
}

void FrontierModelRun::checkpoint() {
  if (once_in(3)) {
    note("flush");
    settle(frontier_->flush(), {model_});
    return;
  }
  note("checkpoint");
  const auto taken = frontier_->checkpoint();
  if (!taken) {
    note("  error: " + taken.error().message);
    broken_ |= dead();
    if (!faults_->struck()) ADD_FAILURE() << taken.error().message << "\n" << log_text();
  }
}

void FrontierModelRun::move_clocks() {
  std::string where = "at rest";
  Milliseconds by(below(40));
  if (once_in(2)) by = model_.next_event().value_or(by);
  if (once_in(8)) by = Milliseconds(10'000);
  if (once_in(30)) by = Milliseconds(40'000);
  clocks_.advance(by);
  note(fmt::format("move clocks by {} ms", by.count()));
  if (broken_) return;
  expect_none(model_.check_stats(frontier_->stats().value()), "stats");
  Progress progress = frontier_->progress().value();
  // A host that is not in memory counts as one that may be leased until its record is read.
  for (std::uint32_t shard = 0;
       model_.exhausted() && !progress.exhausted && shard < options_.store.shards; ++shard) {
    static_cast<void>(frontier_->lease({.max = 0, .shard = shard}));
    progress = frontier_->progress().value();
  }
  if (progress.finished != model_.finished() || progress.exhausted != model_.exhausted()) {
    ADD_FAILURE() << "finished is " << progress.finished << ", not " << model_.finished()
                  << "; exhausted is " << progress.exhausted << ", not " << model_.exhausted()
                  << "\n"
                  << log_text();
  }
  if (const auto urls = listed()) expect_none(model_.check_set_aside(*urls), "set aside");
  if (!once_in(3)) return;
  std::vector<HostInfo> infos;
  for (std::string after;;) {
    const auto some = frontier_->hosts(after, 1 + below(3));
    if (!some) return;
    if (some->empty()) break;
    infos.insert(infos.end(), some->begin(), some->end());
    after = infos.back().host;
  }
  expect_none(model_.check_hosts(infos), "hosts");
}

}  // namespace trawl::test
