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

// Nanoseconds of a clock that costs next to nothing, and ticks every few milliseconds.
std::int64_t coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Shorter texts are in too many URLs to tell anything.
constexpr int kShortestText = 3;
// Of the automaton that all patterns share, made as URLs need it.
constexpr std::int64_t kAutomatonMemory = 64 << 20;

// Lets calls take half a second, and then a tenth of the time. What they take is told by the ticks
// that fall into them: right on average, as quick calls seldom see one. Thread-safe.
class CallBudget {
 public:
  bool may_call(std::int64_t now) const { return paid_at_.load(std::memory_order_relaxed) <= now; }
  void called(std::int64_t begun, std::int64_t ended) {
    if (ended <= begun) return;
    // Calls at the same time may lose a price, which matters little.
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

// One automaton of all patterns answers in a fraction of a microsecond for URLs like those before,
// but takes up to 100 ms for one that is made to lead it astray. Where that happens patterns are
// asked one by one, in their order, but only those whose texts the URL has: RE2 tells which texts a
// URL must have for a pattern to match.
struct UrlPatternSet::Compiled {
  std::vector<UrlPattern> patterns;
  std::unique_ptr<re2::RE2::Set> all;  // null: there is one pattern only
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
                               "fewer, or a blocklist for plain URLs and hosts",
                               patterns.size()));
    }
    std::vector<std::string> required;
    filtered.Compile(&required);
    texts = std::make_unique<TextFinder>(required);
    return {};
  }

  // Nothing: the automaton may not be asked, or has no answer. -1: none matches.
  std::optional<int> ask_automaton(std::string_view href) const {
    const std::int64_t begun = coarse_now();
    if (!budget.may_call(begun)) return std::nullopt;
    thread_local std::vector<int> matches;
    re2::RE2::Set::ErrorInfo error{};
    const bool any = all->Match(re2::StringPiece(href.data(), href.size()), &matches, &error);
    budget.called(begun, coarse_now());
    if (any) return *std::ranges::min_element(matches);
    if (error.kind == re2::RE2::Set::kNoError) return -1;
    return std::nullopt;
  }

  int ask_one_by_one(std::string_view href) const {
    thread_local std::vector<int> found;
    texts->find(href, found);
    return filtered.FirstMatch(re2::StringPiece(href.data(), href.size()), found);
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
  std::optional<int> first = compiled_->ask_automaton(href);
  if (!first) first = compiled_->ask_one_by_one(href);
  if (*first < 0) return std::nullopt;
  return static_cast<std::size_t>(*first);
}

}  // namespace trawl
