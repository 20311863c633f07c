// The report of `trawl explain` on a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trawl/result.h"
#include "trawl/robots.h"
#include "trawl/url.h"

#include "crawler/cli/stored_url_state.h"
#include "crawler/config/crawl_config.h"
#include "crawler/decide/url_verdict.h"

namespace trawl::cli {

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
  bool seed = false;
  std::uint32_t depth = 0;
  std::uint32_t hops = 0;
  std::int32_t priority = 0;
  std::vector<LimitCheck> limits = {};
  std::optional<bool> repeated = {};  // segments repeat too often; absent: no limit
  std::uint32_t max_repeated = 0;
  std::vector<BlocklistCheck> blocklists = {};
  std::optional<RobotsCheck> robots = {};
  std::string directory = {};  // of the state; empty: the config names none
  StoredUrlState state = {};

  // Whether the URL would be fetched, as far as was checked.
  bool followed() const {
    return verdict.is_fetched() && (!robots || !robots->obeyed || robots->decision.allowed);
  }
};

std::string as_text(const Explanation& explanation);
std::string as_json(const Explanation& explanation);

}  // namespace trawl::cli
