// NodesAway: nodes that did not answer in time, and when they are asked again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "frontier/redis/redis_options.h"

namespace trawl {

// For readers that have other work than to wait: a node that is away costs one of them a short
// wait from time to time, at growing intervals, and a longer one each ten seconds: it may only be
// slow. Thread-safe.
class NodesAway {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Node = std::optional<RedisAddress>;  // absent: no node has what is to be read

  enum class Ask : std::uint8_t { kNot, kBriefly, kPatiently };

  // Whether to ask the node now. Of several that do so while it is away, one hears yes.
  Ask may_ask(const Node& node, Time now) {
    const MutexLock lock(mutex_);
    const auto found = away_.find(node);
    if (found == away_.end()) return Ask::kBriefly;
    Away& away = found->second;
    if (now < away.ask_again) return Ask::kNot;
    away.ask_again = now + away.pause;
    if (now - away.asked_patiently < kBetweenPatient) return Ask::kBriefly;
    away.asked_patiently = now;
    return Ask::kPatiently;
  }
  void note_away(const Node& node, std::string why, Time now) {
    const MutexLock lock(mutex_);
    auto [found, is_new] = away_.try_emplace(node, Away{now});
    Away& away = found->second;
    // What nobody has asked for long, as its hosts are read elsewhere now, was away another time.
    if (!is_new && now - away.noted >= kForgotten) {
      away = Away{now};
      is_new = true;
    }
    // Several may have asked before the first knew.
    if (!is_new && away.noted + away.pause / 2 > now) return;
    if (!is_new) away.pause = std::min(away.pause * 2, kLongestPause);
    away.noted = now;
    away.ask_again = now + away.pause;
    away.why = std::move(why);
  }
  void note_answer(const Node& node) {
    const MutexLock lock(mutex_);
    away_.erase(node);
  }
  // Why readers wait, if one has for more than a moment; else empty.
  std::string waits_for(Time now) const {
    const MutexLock lock(mutex_);
    for (const auto& [node, away] : away_) {
      // One that nobody has asked again has nothing now that is to be read.
      const bool is_asked = now - away.noted < kForgotten;
      if (is_asked && away.noted - away.since >= kMoment) return away.why;
    }
    return {};
  }

 private:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds kFirstPause{250}, kLongestPause{2000}, kMoment{1000},
      kForgotten{6000}, kBetweenPatient{10'000};
  struct Away {
    explicit Away(Time now) : since(now), asked_patiently(now) {}
    Time since;
    Time asked_patiently;
    Time noted = {};
    Time ask_again = {};
    milliseconds pause = kFirstPause;
    std::string why = {};
  };

  mutable Mutex mutex_;
  std::map<Node, Away> away_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
