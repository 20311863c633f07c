// ResponseRules: which responses are kept, or read for links, by content type and status.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"
#include "crawler/config/media_types.h"

namespace trawl {

constexpr bool is_2xx(int status) {
  return status >= 200 && status < 300;
}

// Immutable, thread-safe.
class ResponseRules {
 public:
  ResponseRules() = default;
  // The first rule that matches decides.
  explicit ResponseRules(std::span<const ResponseRuleText> rules);

  // What the rules say; nothing if none matches. `content_type`: the value of a header.
  std::optional<bool> decide(std::string_view content_type, int status) const {
    const Rule* rule = find(content_type, status);
    return rule == nullptr ? std::nullopt : std::optional(rule->include);
  }

 private:
  struct Rule {
    bool include;
    MediaTypes types;
    std::vector<StatusRange> statuses;  // empty: all
  };
  const Rule* find(std::string_view content_type, int status) const;

  std::vector<Rule> rules_;
};

// The types that a crawl keeps: those of the rules, else of a list, which may be empty for all.
class KeptResponses {
 public:
  explicit KeptResponses(const CrawlConfig::Output& config)
      : rules_(config.rules), types_(config.content_types) {}
  bool has(std::string_view content_type, int status) const;

 private:
  ResponseRules rules_;
  MediaTypes types_;
};

// The types that a crawl reads for links as pages: those of the rules, else pages of status 2xx of
// the types of a list, which may be empty for HTML.
class ReadResponses {
 public:
  explicit ReadResponses(const CrawlConfig::Links& config)
      : rules_(config.rules), types_(config.content_types) {}
  // `svg`: SVG counts like HTML.
  bool has(std::string_view content_type, int status, bool svg = false) const;
  // The same for types that are read in another way: style sheets, scripts, JSON, feeds.
  bool has_other(std::string_view content_type, int status) const {
    return rules_.decide(content_type, status).value_or(is_2xx(status));
  }
  // Whether a response may turn out to be one when its body, which gives the type of those without,
  // is there.
  bool may_have(std::string_view content_type, int status, bool svg = false) const;

 private:
  ResponseRules rules_;
  MediaTypes types_;
};

}  // namespace trawl
