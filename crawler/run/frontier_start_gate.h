// FrontierStartGate: asks the frontier for a host's turn before a request is sent (P1), and waits
// for politeness.max_rate.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "crawler/http/start_gate.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

class FrontierStartGate final : public StartGate {
 public:
  // For a request to `host` (as Lease::host): that of the lease if `own`. `paced`: whether that
  // host has a turn to wait for; see Lease::paced.
  FrontierStartGate(CrawlContext& context, std::uint64_t lease, std::string host, bool own,
                    bool paced)
      : context_(context), lease_(lease), host_(std::move(host)), own_(own), paced_(paced) {}

  // First a place among the requests of all hosts, then the host's turn: a turn that was given
  // counts as used. A place is lost if it is not the host's turn then.
  Answer ask(std::string_view address) override {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (context_.request_rate.limited() && !place_) place_ = context_.request_rate.take(1, now);
    if (place_ && *place_ > now) {
      // Asked again each second, so that a crawl that is to end does not wait for long.
      if (context_.phase() != CrawlPhase::kRunning) return {Answer::When::kLater, now};
      return {Answer::When::kSoon, std::min(*place_, now + kLongestWait)};
    }
    place_.reset();
    if (!paced_) return {Answer::When::kNow, now};
    const auto turn = own_ ? context_.frontier.start(lease_, address)
                           : context_.frontier.start_elsewhere(host_, address);
    if (!turn) {
      // An expired lease is dropped without a request: its URL is leased to another thread.
      if (turn.error().code != ErrorCode::kNotFound) context_.stop_with(turn.error());
      return {Answer::When::kLater, std::chrono::steady_clock::now()};
    }
    turn_ = *turn;
    switch (turn->when) {
      case StartTurn::When::kNow:
        return {Answer::When::kNow, turn->at};
      case StartTurn::When::kSoon:
        return {Answer::When::kSoon, turn->at};
      case StartTurn::When::kLater:
        break;
    }
    return {Answer::When::kLater, turn->at};
  }

  bool may_send() override {
    return context_.shared == nullptr || !paced_ || context_.shared->may_send(turn_);
  }

  void sent(std::optional<Time> when, std::string_view address) override {
    if (when) context_.tally.note_start(host_, *when);
    if (!paced_) return;
    if (const auto noted = context_.frontier.sent(turn_, when, address); !noted)
      context_.stop_with(noted.error());
  }

 private:
  static constexpr std::chrono::milliseconds kLongestWait{1000};

  CrawlContext& context_;
  const std::uint64_t lease_;
  const std::string host_;
  const bool own_;
  const bool paced_;
  StartTurn turn_;
  std::optional<SteadyTime> place_;
};

}  // namespace trawl
