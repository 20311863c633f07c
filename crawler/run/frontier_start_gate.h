// FrontierStartGate: asks the frontier for a host's turn before a request is sent (P1).
#pragma once

#include <string>
#include <utility>

#include "crawler/http/start_gate.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

class FrontierStartGate final : public StartGate {
 public:
  // For a request to `host` (as Lease::host): that of the lease if `own`.
  FrontierStartGate(CrawlContext& context, std::uint64_t lease, std::string host, bool own)
      : context_(context), lease_(lease), host_(std::move(host)), own_(own) {}

  Answer ask(std::string_view address) override {
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

  void sent(std::optional<Time> when, std::string_view address) override {
    if (when) context_.tally.note_start(host_, *when);
    if (const auto noted = context_.frontier.sent(turn_, when, address); !noted)
      context_.stop_with(noted.error());
  }

 private:
  CrawlContext& context_;
  const std::uint64_t lease_;
  const std::string host_;
  const bool own_;
  StartTurn turn_;
};

}  // namespace trawl
