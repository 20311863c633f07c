#include "crawler/decide/url_verdict.h"

namespace trawl {

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::kInvalidUrl:
      return "invalid URL";
    case SkipReason::kOtherScheme:
      return "other scheme";
    case SkipReason::kOutOfScope:
      return "out of scope";
    case SkipReason::kExcluded:
      return "excluded by rule";
    case SkipReason::kTooDeep:
      return "too deep";
    case SkipReason::kTooLong:
      return "URL too long";
    case SkipReason::kTooManySegments:
      return "too many path segments";
    case SkipReason::kRepeatedSegments:
      return "repeated path segments";
    case SkipReason::kTooManyParameters:
      return "too many query parameters";
    case SkipReason::kBlocked:
      return "blocked";
    case SkipReason::kTooManyUrlsOfHost:
      return "too many URLs of the host";
    case SkipReason::kPatternParked:
      return "pattern parked";
    case SkipReason::kNofollow:
      return "nofollow";
    case SkipReason::kTooManyRedirects:
      return "too many redirects";
    case SkipReason::kRobots:
      return "robots.txt";
  }
  return "none";
}

std::optional<SkipReason> skip_reason_of(std::string_view name) {
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    if (to_string(static_cast<SkipReason>(i)) == name) return static_cast<SkipReason>(i);
  }
  return std::nullopt;
}

std::string_view config_key_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::kInvalidUrl:
    case SkipReason::kOtherScheme:
      return "";
    case SkipReason::kOutOfScope:
      return "scope.type";
    case SkipReason::kExcluded:
      return "scope.exclude";
    case SkipReason::kTooDeep:
      return "scope.max_depth";
    case SkipReason::kTooLong:
      return "scope.max_url_length";
    case SkipReason::kTooManySegments:
      return "scope.max_path_segments";
    case SkipReason::kRepeatedSegments:
      return "scope.max_repeated_segments";
    case SkipReason::kTooManyParameters:
      return "scope.max_query_parameters";
    case SkipReason::kBlocked:
      return "scope.blocklist";
    case SkipReason::kTooManyUrlsOfHost:
      return "scope.max_urls_per_host";
    case SkipReason::kPatternParked:
      return "scope.park_pattern_after";
    case SkipReason::kNofollow:
      return "links.respect_nofollow";
    case SkipReason::kTooManyRedirects:
      return "fetch.max_redirects";
    case SkipReason::kRobots:
      return "politeness.respect_robots";
  }
  return "";
}

}  // namespace trawl
