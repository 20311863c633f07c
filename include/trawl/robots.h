// Robots: what a site's robots.txt allows, by RFC 9309.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// A parsed robots.txt. Immutable and cheap to copy; thread-safe.
class Robots {
 public:
  // Parses the bytes of a robots.txt; never fails: lines that mean nothing are ignored, as the
  // RFC says. Bytes past 500 KiB are not read.
  static Robots parse(std::string_view bytes);
  static Robots allow_all();
  static Robots disallow_all();

  // True if a crawler whose product token is `agent` ("trawl") may fetch `url`. The longest
  // matching rule decides, Allow wins ties; /robots.txt itself is always allowed. `agent` is
  // compared case-insensitively; the group "*" holds for agents without a group of their own.
  bool allowed(std::string_view agent, const Url& url) const;

  // The Crawl-delay of the agent's group (an extension of robots.txt, not in the RFC).
  std::optional<std::chrono::milliseconds> crawl_delay(std::string_view agent) const;

  // The absolute URLs of Sitemap lines, in order.
  const std::vector<std::string>& sitemaps() const noexcept;

 private:
  struct Rules;
  explicit Robots(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}
  std::shared_ptr<const Rules> rules_;
};

}  // namespace trawl
