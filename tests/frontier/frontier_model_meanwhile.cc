// FrontierModelRun: calls, and crashes, between the beginning of a completion and its commit.
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/frontier/frontier_model_run.h"

namespace trawl::test {

Result<void> CommitHold::before_commit() {
  std::unique_lock lock(mutex_);
  if (state_ != State::kArmed) return {};
  state_ = State::kHeld;
  changed_.notify_all();
  changed_.wait(lock, [this] { return state_ == State::kOff; });
  return {};
}

void CommitHold::arm() {
  const std::lock_guard lock(mutex_);
  state_ = State::kArmed;
}

void CommitHold::release() {
  const std::lock_guard lock(mutex_);
  state_ = State::kOff;
  changed_.notify_all();
}

bool CommitHold::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ != State::kArmed; });
  return state_ == State::kHeld;
}

std::optional<std::uint64_t> FrontierModelRun::some_open_lease() {
  std::vector<std::uint64_t> open;
  for (const auto& [id, lease] : model_.leases()) {
    if (lease.state == ModelLease::kOpen) open.push_back(id);
  }
  return open.empty() ? std::nullopt : std::optional(open[below(open.size())]);
}

// A call that is made when the completion of `lease` is under way. Its strings stay where they are.
std::unique_ptr<FrontierModelRun::Meanwhile> FrontierModelRun::some_call_meanwhile(
    std::uint64_t lease, const FrontierModel& completed) {
  auto call = std::make_unique<Meanwhile>();
  call->next = {completed};
  FrontierModel& next = call->next.back();
  const std::string url = model_.leases().at(lease).url;
  const std::string host = once_in(4) ? some_host() : model_.urls().at(url).host;
  switch (below(4)) {
    case 0: {
      std::optional<std::uint64_t> limit;
      if (!once_in(3)) limit = below(4);
      note(fmt::format("  meanwhile set_host_limit {} {}", host, limit.value_or(99)));
      next.set_host(host, {.limit = limit.value_or(HostSettings::kNoLimit)});
      call->make = [this, host, limit] {
        return frontier_->set_host(host, {.limit = limit.value_or(HostSettings::kNoLimit)});
      };
      break;
    }
    case 1: {
      note(fmt::format("  meanwhile drop_host {}", host));
      call->next.push_back(completed);
      call->next.front().drop_host(host, true);  // what is deferred goes first
      const std::uint64_t expected = call->next.back().drop_host(host);
      call->make = [this, host, expected]() -> Result<void> {
        const auto dropped = frontier_->drop_host(host);
        if (!dropped) return tl::unexpected(dropped.error());
        EXPECT_EQ(*dropped, expected);
        return {};
      };
      break;
    }
    case 2: {
      call->offer = some_urls(4);
      // In exact mode a link to be held is not known yet while its URL is being admitted.
      for (UrlRequest& request : call->offer.requests)
        request.hold.reset();
      // Nor is `again` for one that waits: the completion's links may have queued it.
      const auto waits = [&](std::string_view name) {
        const ModelUrl& known = completed.urls().at(std::string(name));
        return known.state != ModelUrl::kDone && known.state != ModelUrl::kDropped;
      };
      std::erase_if(call->offer.requests, [&](const UrlRequest& request) {
        return request.again && (request.url == url || waits(request.url));
      });
      if (completed.urls().at(url).state == ModelUrl::kDone) {
        call->offer.requests.push_back({.url = call->offer.urls.emplace_back(url), .again = true});
      }
      note(fmt::format("  meanwhile offer {} URLs, with again", call->offer.requests.size()));
      const auto expected = next.offer(call->offer.requests);
      call->make = [this, call = call.get(), expected]() -> Result<void> {
        const auto answers = frontier_->offer(call->offer.requests);
        if (!answers) return tl::unexpected(answers.error());
        EXPECT_EQ(*answers, expected);
        return {};
      };
      break;
    }
    default: {
      const auto other = some_open_lease();
      if (!other || *other == lease) break;
      note(fmt::format("  meanwhile complete {}", *other));
      static_cast<void>(next.complete(*other, {.status = 200}, {}));
      call->make = [this, other]() -> Result<void> {
        const auto done = frontier_->complete(*other, {.status = 200}, {});
        return done ? Result<void>{} : tl::unexpected(done.error());
      };
    }
  }
  return call;
}

// The commit of a completion waits until another call has begun, which is committed behind it. The
// disk may die at either.
void FrontierModelRun::complete_meanwhile() {
  const auto id = some_open_lease();
  if (!id || dead() || broken_) return complete();
  const Outcome outcome = some_outcome(*id);
  Offer links = some_urls(6);
  // No URL is found nearer: that counts for another's end once it is durable, not in this order.
  for (UrlRequest& link : links.requests)
    link.depth = link.again ? 0 : 5;
  note(fmt::format("complete {} error '{}' requested {} recrawl {} with {} links, held", *id,
                   outcome.error, outcome.requested, outcome.recrawl_at.has_value(),
                   links.requests.size()));
  FrontierModel completed = model_;
  const auto expected = completed.complete(*id, outcome, links.requests);
  hold_.arm();
  auto completion = std::async(std::launch::async, [&] {
    auto answers = frontier_->complete(*id, outcome, links.requests);
    hold_.release();
    return answers;
  });
  std::unique_ptr<Meanwhile> call;
  std::future<Result<void>> made;
  if (hold_.wait()) {
    call = some_call_meanwhile(*id, completed);
    if (!crash_armed_ && once_in(2)) {
      faults_->crash_at(1 + below(4), random_());
      crash_armed_ = true;
    }
    if (call->make) {
      const std::uint64_t memory = frontier_->stats()->memory;
      made = std::async(std::launch::async, call->make);
      // Until its operation waits behind the other; one that changes nothing has none.
      for (int i = 0; i < 1000 && frontier_->stats()->memory == memory; ++i)
        std::this_thread::yield();
    }
    hold_.release();
  }
  const auto answers = completion.get();
  const auto other = made.valid() ? made.get() : Result<void>{};
  if (answers) {
    model_ = std::move(completed);
    EXPECT_EQ(*answers, expected) << log_text();
    if (other && call && call->make) model_ = std::move(call->next.back());
    if (!other) candidates_ = std::move(call->next);
  } else {
    candidates_ = {std::move(completed)};
  }
  for (const Error* error :
       {answers ? nullptr : &answers.error(), other ? nullptr : &other.error()}) {
    if (error == nullptr) continue;
    broken_ = true;
    note("  error: " + error->message);
    if (!dead()) ADD_FAILURE() << "an error on a disk that works\n" << log_text();
  }
  if (::testing::Test::HasFailure()) ADD_FAILURE() << log_text();
}

}  // namespace trawl::test
