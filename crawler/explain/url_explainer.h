// UrlExplainer: explains URLs by the rules of a config and what a crawl knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/explain/explanation.h"
#include "crawler/explain/url_knowledge.h"

namespace trawl {

struct UrlQuestion {
  std::string url;
  // Absent: as the crawl found the URL, if it is known; otherwise 0 for seeds and 1 for others.
  std::optional<std::uint32_t> depth = std::nullopt;
  std::optional<std::uint32_t> hops = std::nullopt;
};

// Thread-safe if the source is.
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
