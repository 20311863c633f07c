// One automaton of all patterns (RE2::Set) decides in a fraction of a microsecond for URLs similar
// to earlier ones, but takes up to 100 ms for a URL crafted to make it build new states. A
// CallBudget bounds that time. When it is used up, patterns are matched one by one in their order,
// but only those whose required texts are in the URL: FilteredRE2 gives the texts that a URL must
// have to match a pattern, and a TextFinder finds all of them in one pass.
#include "crawler/patterns/url_pattern_set.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include "crawler/patterns/text_finder.h"
#include "crawler/patterns/url_pattern_options.h"

namespace trawl {

namespace {

// Nanoseconds of a cheap clock that ticks every few milliseconds.
std::int64_t coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Shorter texts are in too many URLs to be useful.
constexpr int kShortestText = 3;
// Memory limit of the common automaton, whose states are built as needed.
constexpr std::int64_t kAutomatonMemory = 64 << 20;

// Allows calls half a second in total, and beyond that a tenth of the time. The time of a call is
// measured by the clock ticks that fall into it: quick calls rarely see a tick, but the average is
// right. Thread-safe.
class CallBudget {
 public:
  bool may_call(std::int64_t now) const { return paid_at_.load(std::memory_order_relaxed) <= now; }
  void called(std::int64_t begun, std::int64_t ended) {
    if (ended <= begun) return;
    // Concurrent calls may lose an update, which matters little.
    const std::int64_t least = ended - kAtOnce * kPrice;
    paid_at_.store(
        std::max(paid_at_.load(std::memory_order_relaxed), least) + (ended - begun) * kPrice,
        std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kAtOnce = 500'000'000;
  static constexpr std::int64_t kPrice = 10;
  std::atomic<std::int64_t> paid_at_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace

// See the head of this file.
struct UrlPatternSet::Compiled {
  std::vector<UrlPattern> patterns;
  std::unique_ptr<re2::RE2::Set> all;  // null if there is only one pattern
  mutable CallBudget budget;
  re2::FilteredRE2 filtered{kShortestText};
  std::unique_ptr<TextFinder> texts;

  Result<void> compile() {
    auto options = url_pattern_options();
    options.set_max_mem(kAutomatonMemory);
    all = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
    bool good = true;
    for (const UrlPattern& pattern : patterns) {
      int number = 0;
      good =
          good && all->Add(pattern.expression(), nullptr) >= 0 &&
          filtered.Add(pattern.expression(), url_pattern_options(), &number) == re2::RE2::NoError;
    }
    if (!good || !all->Compile()) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} patterns are too many or too large to be compiled together: use "
                               "fewer patterns, or scope.blocklist for plain URLs and hosts",
                               patterns.size()));
    }
    std::vector<std::string> required;
    filtered.Compile(&required);
    texts = std::make_unique<TextFinder>(required);
    return {};
  }

  // Gives all that match. False if the budget is used up, or the automaton ran out of memory.
  bool ask_automaton(std::string_view href, std::vector<int>& matches) const {
    matches.clear();
    const std::int64_t begun = coarse_now();
    if (!budget.may_call(begun)) return false;
    re2::RE2::Set::ErrorInfo error{};
    const bool any = all->Match(re2::StringPiece(href.data(), href.size()), &matches, &error);
    budget.called(begun, coarse_now());
    return any || error.kind == re2::RE2::Set::kNoError;
  }

  // The first that matches; -1 if there is none.
  int first_one_by_one(std::string_view href) const {
    return filtered.FirstMatch(re2::StringPiece(href.data(), href.size()), texts_in(href));
  }

  void all_one_by_one(std::string_view href, std::vector<int>& matches) const {
    matches.clear();
    filtered.AllMatches(re2::StringPiece(href.data(), href.size()), texts_in(href), &matches);
  }

 private:
  const std::vector<int>& texts_in(std::string_view href) const {
    thread_local std::vector<int> found;
    texts->find(href, found);
    return found;
  }
};

Result<UrlPatternSet> UrlPatternSet::create(std::vector<UrlPattern> patterns) {
  UrlPatternSet set;
  if (patterns.empty()) return set;
  auto compiled = std::make_shared<Compiled>();
  compiled->patterns = std::move(patterns);
  if (compiled->patterns.size() > 1) {
    if (auto done = compiled->compile(); !done) return tl::unexpected(std::move(done.error()));
  }
  set.compiled_ = std::move(compiled);
  return set;
}

std::size_t UrlPatternSet::size() const {
  return compiled_ == nullptr ? 0 : compiled_->patterns.size();
}

const UrlPattern& UrlPatternSet::operator[](std::size_t i) const {
  return compiled_->patterns[i];
}

std::optional<std::size_t> UrlPatternSet::first_match(std::string_view href) const {
  if (compiled_ == nullptr) return std::nullopt;
  if (compiled_->all == nullptr)
    return compiled_->patterns[0].matches(href) ? std::optional<std::size_t>(0) : std::nullopt;
  thread_local std::vector<int> matches;
  if (compiled_->ask_automaton(href, matches)) {
    if (matches.empty()) return std::nullopt;
    return static_cast<std::size_t>(*std::ranges::min_element(matches));
  }
  const int first = compiled_->first_one_by_one(href);
  return first < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(first));
}

void UrlPatternSet::all_matches(std::string_view href, std::vector<int>& numbers) const {
  numbers.clear();
  if (compiled_ == nullptr) return;
  if (compiled_->all == nullptr) {
    if (compiled_->patterns[0].matches(href)) numbers.push_back(0);
  } else if (!compiled_->ask_automaton(href, numbers)) {
    compiled_->all_one_by_one(href, numbers);
  }
}

}  // namespace trawl
