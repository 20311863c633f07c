// UrlPatternSet: finds the first of many patterns that a URL matches, at little more than the cost
// of one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/patterns/url_pattern.h"

namespace trawl {

// Immutable, thread-safe; copies share the compiled patterns.
class UrlPatternSet {
 public:
  // Matches nothing.
  UrlPatternSet() = default;
  // Errors: kInvalidArgument if there are too many patterns to compile together.
  static Result<UrlPatternSet> create(std::vector<UrlPattern> patterns);

  bool empty() const { return compiled_ == nullptr; }
  std::size_t size() const;
  const UrlPattern& operator[](std::size_t i) const;
  // The number of the first pattern that matches. `href` as for UrlPattern::matches().
  std::optional<std::size_t> first_match(std::string_view href) const;
  // The numbers of all patterns that match, in no order. Costs more than first_match().
  void all_matches(std::string_view href, std::vector<int>& numbers) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace trawl
