#include "crawler/run/start_requests.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace trawl {

StartRequests::StartRequests(const CrawlRules& rules, const CrawlConfig::Crawl& now,
                             const CrawlConfig::Crawl& before) {
  const SeedSettings& settings = rules.decider.seeds();
  const auto add = [&](const std::vector<std::string>& all, const std::vector<std::string>& known,
                       const auto& note_of) {
    for (const std::string& text : all) {
      if (std::ranges::find(known, text) != known.end()) continue;
      auto parsed = Url::parse(text);  // the config was validated
      if (!parsed) continue;
      const Url& url = urls_.emplace_back(*std::move(parsed));
      const UrlNote note = note_of(url);
      requests_.push_back(
          {.url = url.href_without_fragment(),
           .priority = rules.priorities.of(url, 0, std::nullopt, settings.find(note.seed)),
           .note = notes_.emplace_back(note.encode())});
    }
  };
  add(now.seeds, before.seeds, [&settings](const Url& url) {
    UrlNote note;
    note.seed = settings.id_of(url);
    return note;
  });
  add(now.sitemaps, before.sitemaps, [](const Url&) {
    UrlNote note;
    note.role = UrlNote::Role::kSitemap;
    note.vouched = true;
    note.lists_seeds = true;
    return note;
  });
}

}  // namespace trawl
