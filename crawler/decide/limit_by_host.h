// LimitByHost: a limit for all hosts, and others for some of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crawler/config/crawl_config.h"
#include "crawler/config/host_places.h"

namespace trawl {

// Immutable, thread-safe.
class LimitByHost {
 public:
  using Limit = std::optional<std::uint64_t>;  // absent: none

  LimitByHost(Limit all) : all_(all) {}
  LimitByHost(std::nullopt_t) {}
  LimitByHost(std::uint64_t all) : all_(all) {}
  // scope.max_pages_per_host or scope.max_urls_per_host, and [[politeness.host]].
  static LimitByHost pages(const CrawlConfig& config);
  static LimitByHost urls(const CrawlConfig& config);

  // `host`: in the form of Lease::host.
  Limit of(std::string_view host) const;
  // Whether any host has a limit.
  bool any() const noexcept;

  // A number that differs for other limits; without entries, the limit or 0.
  std::uint64_t number() const;
  // "20", "none", or with entries "20 .example.com=5 example.org=none"; one line.
  std::string to_text() const;
  static std::optional<LimitByHost> parse(std::string_view text);

  friend bool operator==(const LimitByHost& a, const LimitByHost& b) {
    return a.all_ == b.all_ && a.entries_ == b.entries_;
  }

 private:
  using Member = Limit HostPolitenessText::*;
  static LimitByHost of_config(const CrawlConfig& config, Limit all, Member member);
  bool add(std::string_view host, Limit limit);

  Limit all_;
  std::vector<std::pair<std::string, Limit>> entries_;
  HostPlaces places_;
};

}  // namespace trawl
