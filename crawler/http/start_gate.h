// StartGate: when a request may begin, asked when it is known where it goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// Of one request. Called on the client's thread.
class StartGate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    enum class When : std::uint8_t {
      kNow,
      kSoon,   // asked again at `at`; the request waits for that
      kLater,  // the request is ended, unsent: HttpResponse::not_before
    };
    When when = When::kNow;
    Time at{};
  };

  virtual ~StartGate() = default;

  // The name was looked up; next the connection is opened, or the request sent over one that is
  // kept. `address` is that of the server, as text; empty: not known, because a proxy looks it up.
  virtual Answer ask(std::string_view address) = 0;
  // Once after kNow: the request was sent, to `address` if it is another one after all (empty: it
  // is not). Nothing: it was not sent.
  virtual void sent(std::optional<Time> when, std::string_view address) = 0;
};

}  // namespace trawl
