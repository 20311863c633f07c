// UrlExplainer: explains URLs by the rules of a config and what a crawl knows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/url_decider.h"
#include "crawler/explain/explanation.h"
#include "crawler/explain/url_knowledge.h"

namespace trawl {

struct UrlQuestion {
  std::string url;
  // Absent: as the crawl found the URL, if it is known; otherwise 0 for seeds and 1 for others.
  std::optional<std::uint32_t> depth = std::nullopt;
  std::optional<std::uint32_t> hops = std::nullopt;
  std::optional<FoundAs> kind = std::nullopt;  // absent: seed or navigation
};

// By what a URL is explained. All must outlive the explanation.
struct ExplainingRules {
  const CrawlConfig& config;
  const Canonicalizer& canonicalizer;
  const UrlDecider& decider;
  const Priorities& priorities;
  // Whether a canonical key is that of a seed.
  std::function<bool(std::string_view key)> is_seed;
};
// `known`: what the crawl knows of the URL.
Explanation explain_url(const ExplainingRules& rules, const UrlQuestion& question, const Url& url,
                        UrlKnowledge known);
// The same for what is not a URL, for the reason `why`.
Explanation explain_invalid(const UrlQuestion& question, Error why);

// Explains by the rules of a config. Thread-safe if the source is.
class UrlExplainer {
 public:
  // Reads the lists that the config names. Errors: those of the rules.
  static Result<UrlExplainer> create(const CrawlConfig& config);
  UrlExplainer(UrlExplainer&&) noexcept;
  UrlExplainer& operator=(UrlExplainer&&) noexcept;
  ~UrlExplainer();

  const CrawlConfig& config() const;
  // The explanation is valid as long as the explainer. `source` may be null.
  Explanation explain(const UrlQuestion& question, UrlKnowledgeSource* source) const;

 private:
  struct Rules;
  explicit UrlExplainer(std::unique_ptr<Rules> rules);
  std::unique_ptr<Rules> rules_;
};

}  // namespace trawl
