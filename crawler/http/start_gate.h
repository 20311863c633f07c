// StartGate: decides when a request may begin (P1); asked once its address is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// For one request. Called on the client's thread.
class StartGate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    enum class When : std::uint8_t {
      kNow,
      kSoon,   // the request waits, and the gate is asked again at `at`
      kLater,  // the request ends unsent, with HttpResponse::not_before
    };
    When when = When::kNow;
    Time at{};
  };

  virtual ~StartGate() = default;

  // Called when the name was resolved, before a connection is opened or a kept one used. `address`:
  // the server's, as text; empty if unknown because a proxy resolves the name.
  virtual Answer ask(std::string_view address) = 0;
  // Called after kNow, once the connection is open. False: the request ends unsent, as if kLater
  // had been the answer.
  virtual bool may_send() { return true; }
  // Called once after kNow. `when`: the time the request was sent; absent: it was not sent.
  // `address`: the address used if it differs from the one asked with, else empty.
  virtual void sent(std::optional<Time> when, std::string_view address) = 0;
};

}  // namespace trawl
