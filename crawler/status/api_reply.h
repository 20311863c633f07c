// ApiReply: what the status server answers, now or later.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trawl {

struct ApiReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// {"error": message}
ApiReply error_reply(int status, std::string_view message);

// The threads that run what must not hold up the listener's thread.
enum class CallLane {
  kReads,  // reads counters: milliseconds
  kSlow,   // may read or write the whole frontier: seconds
};

struct DeferredReply {
  CallLane lane = CallLane::kReads;
  std::function<ApiReply()> make;
};

// The client gets the handler's events each second.
struct EventSubscription {};

using ApiOutcome = std::variant<ApiReply, DeferredReply, EventSubscription>;

}  // namespace trawl
