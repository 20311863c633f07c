// Robots: what a site's robots.txt allows, by RFC 9309.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/url.h"

namespace trawl {

struct RobotsOptions {
  // Read the misspellings that Google's parser reads: "dissallow", "useragent", "site-map" and
  // their like, and "Disallow /private" without its colon.
  bool accept_typos = true;
};

// Why a URL may be fetched or not.
enum class RobotsReason {
  kRule,           // a line of the file decides
  kNoRuleMatches,  // allowed: no rule of the agent's groups matches
  kNoGroup,        // allowed: no group names the agent, and none is for all
  kRobotsTxt,      // allowed: robots.txt itself always is
  kWholeSite,      // allow_all() or disallow_all(): no file decides
};

struct RobotsDecision {
  bool allowed = true;
  RobotsReason reason = RobotsReason::kNoGroup;
  std::size_t line = 0;  // of the deciding rule, counted from 1; 0 unless `reason` is kRule
  std::string text;      // that line, without its comment and the space around it
};

// A parsed robots.txt. Immutable and cheap to copy; thread-safe. The rules for an agent are
// compiled when they are first asked for.
class Robots {
 public:
  // Parses the bytes of a robots.txt; never fails: lines that mean nothing are ignored, as the
  // RFC says. Bytes past 500 KiB are not read, and lines are cut at 16 KiB.
  static Robots parse(std::string_view bytes, RobotsOptions options = {});
  static Robots allow_all();
  static Robots disallow_all();

  // True if a crawler whose product token is `agent` ("trawl") may fetch `url`. The longest
  // matching rule decides, Allow wins ties; /robots.txt itself is always allowed. `agent` is
  // compared case-insensitively. Of a whole user agent its first product token counts, or, where it
  // begins with "Mozilla", that of its "(compatible; mybot/1.0)" part. A crawler "foo-news" obeys
  // the groups "foo-news", or without any those of "foo" (which the RFC does not ask for), or else
  // those of "*". Takes milliseconds at most for a URL of 2 KB, whatever the file holds, and for
  // longer ones proportionally more.
  bool allowed(std::string_view agent, const Url& url) const;

  // The same with the line that decided. Of equal lines it is the first.
  RobotsDecision decide(std::string_view agent, const Url& url) const;

  // The Crawl-delay of the agent's groups (an extension of robots.txt, not in the RFC), at most a
  // day; of several the shortest.
  std::optional<std::chrono::milliseconds> crawl_delay(std::string_view agent) const;

  // The absolute URLs of the first 1,000 Sitemap lines, in order. They are parsed when they are
  // first asked for, which for a hostile file may take a third of a second.
  const std::vector<std::string>& sitemaps() const;

  // About how many bytes it holds, which its copies share: those of the lines that mean something,
  // and little more. Grows when the rules for an agent are compiled, by at most 8 MiB however many
  // agents are asked for: rules that would make it more are compiled for each answer anew. Grows
  // with the first call of sitemaps(), too. Constant time.
  std::size_t memory() const noexcept;

 private:
  struct Rules;
  explicit Robots(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}
  std::shared_ptr<const Rules> rules_;
};

}  // namespace trawl
