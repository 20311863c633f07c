// Explanation: what a crawl would do with a URL, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "trawl/result.h"
#include "trawl/robots.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/explain/url_knowledge.h"

namespace trawl {

// A limit that depends on the URL alone.
struct LimitCheck {
  std::string_view name;  // "segments"
  std::string_view key;   // of the config
  std::uint64_t value;
  std::optional<std::uint64_t> limit;
};

struct BlocklistCheck {
  std::string file;
  std::optional<std::string> blocked_by;  // the part of the URL that the list contains
};

struct RobotsCheck {
  std::string source;  // the file, or the URL it was fetched from
  RobotsDecision decision;
  bool obeyed = true;  // politeness.respect_robots
};

struct Explanation {
  std::string text;        // as given
  std::optional<Url> url;  // absent: not a URL, and `error` says why
  std::string error;
  UrlVerdict verdict;  // views of the Scope's

  // The other fields are set if `url` is.
  std::string key = {};
  std::string group = {};
  std::string domain = {};
  std::string pattern = {};
  // Why it is not known whether the pattern is parked; empty if it is known.
  std::string pattern_note = {};
  bool seed = false;
  std::uint32_t depth = 0;
  std::uint32_t hops = 0;
  std::int32_t priority = 0;
  std::chrono::milliseconds delay{0};  // by the config
  std::vector<LimitCheck> limits = {};
  std::optional<bool> repeated = {};  // segments repeat too often; absent: no limit
  std::uint32_t max_repeated = 0;
  std::vector<BlocklistCheck> blocklists = {};
  std::string directory = {};  // of the state; empty: the config names none
  UrlKnowledge state = {};
};

// What `trawl explain --json` prints.
nlohmann::ordered_json to_json(const Explanation& explanation);
// Adds the answer of a robots.txt to that, which changes the verdict if it forbids the URL.
void add_robots(nlohmann::ordered_json& explanation, const RobotsCheck& robots);

// The answer in one line, which the JSON has as "verdict".
struct FetchAnswer {
  bool would_be_fetched = false;
  std::string line;  // "would be fetched: ..."
};
FetchAnswer answer_of(const Explanation& explanation);

}  // namespace trawl
