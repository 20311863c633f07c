#include "trawl/robots.h"

#include <atomic>
#include <mutex>
#include <span>

#include "crawler/parse/robots/robots_file.h"
#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/robots_rule_set.h"

namespace trawl {

namespace {

// Memory limit of compiled rules. One agent's rules always fit; but agents that share most of their
// groups could make the same rules be compiled thousands of times.
constexpr std::size_t kMaxCompiledBytes = 8u << 20;

constexpr std::size_t kMaxRememberedAgent = 256;
constexpr std::size_t kMallocBytes = 16;  // malloc's overhead of a small block

}  // namespace

struct Robots::Rules {
  explicit Rules(std::string_view bytes, RobotsOptions options)
      : file(bytes, options),
        compiled(file.rule_sets),
        memory(sizeof(*this) + file.memory() + compiled.size() * sizeof(compiled[0])) {}
  explicit Rules(bool allow_whole_site) : Rules("", {}) { whole_site = allow_whole_site; }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  ~Rules() {
    delete first_asked.load(std::memory_order_relaxed);
    for (auto& set : compiled)
      delete set.load(std::memory_order_relaxed);
  }

  RobotsReason find(std::string_view agent, const Url& url, const RobotsRule*& rule) const;
  bool allows(RobotsReason reason, const RobotsRule* rule) const {
    if (reason == RobotsReason::kWholeSite) return *whole_site;
    return rule == nullptr || rule->allow;
  }
  const std::vector<std::string>& sitemaps() const;

  const RobotsFile file;
  std::optional<bool> whole_site;  // the verdict for all URLs, if there is no file

  // The agent of the first verdict, usually the only one.
  struct Asked {
    std::string agent;
    const RobotsRuleSet& rules;
  };

  const RobotsRuleSet* rules_of_first_asked(std::string_view agent) const;
  const RobotsRuleSet& rules_for(std::string_view agent, std::span<const RobotsAgent> agents,
                                 std::unique_ptr<const RobotsRuleSet>& not_kept) const;
  bool reserve(std::size_t bytes) const;
  void remember(std::string_view agent, const RobotsRuleSet& rules) const;

  // By RobotsAgent::rule_set; null until first needed.
  mutable std::vector<std::atomic<const RobotsRuleSet*>> compiled;
  mutable std::atomic<std::size_t> compiled_bytes = 0;
  mutable std::atomic<const Asked*> first_asked = nullptr;
  mutable std::once_flag sitemaps_read;
  mutable std::vector<std::string> sitemap_urls;
  mutable std::atomic<std::size_t> memory;  // in bytes, including compiled rules
};

// Concurrent threads may compile the same rules; only the first result is kept. Rules that exceed
// the memory limit are stored in `not_kept` instead.
const RobotsRuleSet& Robots::Rules::rules_for(
    std::string_view agent, std::span<const RobotsAgent> agents,
    std::unique_ptr<const RobotsRuleSet>& not_kept) const {
  auto& slot = compiled[agents.front().rule_set];
  // acquire: makes the compiled rules visible; pairs with the release below.
  const RobotsRuleSet* present = slot.load(std::memory_order_acquire);
  if (present != nullptr) return *present;
  auto made = std::make_unique<const RobotsRuleSet>(file, agents);
  if (!reserve(made->memory())) {
    not_kept = std::move(made);
    return *not_kept;
  }
  if (!slot.compare_exchange_strong(present, made.get(), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
    compiled_bytes.fetch_sub(made->memory(), std::memory_order_relaxed);
    return *present;
  }
  memory.fetch_add(made->memory(), std::memory_order_relaxed);
  remember(agent, *made);
  return *made.release();
}

bool Robots::Rules::reserve(std::size_t bytes) const {
  std::size_t taken = compiled_bytes.load(std::memory_order_relaxed);
  do {
    if (bytes > kMaxCompiledBytes - taken) return false;
  } while (!compiled_bytes.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

void Robots::Rules::remember(std::string_view agent, const RobotsRuleSet& rules) const {
  if (agent.size() > kMaxRememberedAgent) return;
  const Asked* first = nullptr;
  if (first_asked.load(std::memory_order_relaxed) != nullptr) return;
  auto asked = std::make_unique<const Asked>(Asked{.agent = std::string(agent), .rules = rules});
  // release: pairs with the acquire in rules_of_first_asked().
  if (!first_asked.compare_exchange_strong(first, asked.get(), std::memory_order_release,
                                           std::memory_order_relaxed)) {
    return;
  }
  memory.fetch_add(sizeof(Asked) + asked->agent.capacity(), std::memory_order_relaxed);
  asked.release();
}

const RobotsRuleSet* Robots::Rules::rules_of_first_asked(std::string_view agent) const {
  // acquire: pairs with the release in remember().
  const Asked* asked = first_asked.load(std::memory_order_acquire);
  return asked != nullptr && asked->agent == agent ? &asked->rules : nullptr;
}

RobotsReason Robots::Rules::find(std::string_view agent, const Url& url,
                                 const RobotsRule*& rule) const {
  const RobotsPath target(url);
  if (target.text() == "/robots.txt") return RobotsReason::kRobotsTxt;
  if (whole_site) return RobotsReason::kWholeSite;
  std::unique_ptr<const RobotsRuleSet> not_kept;
  const RobotsRuleSet* rules = rules_of_first_asked(agent);
  if (rules == nullptr) {
    const std::span<const RobotsAgent> agents = file.agents_for(agent);
    if (agents.empty()) return RobotsReason::kNoGroup;
    rules = &rules_for(agent, agents, not_kept);
  }
  RobotsMatchCost work;
  const std::size_t found = rules->find(target, work);
  if (found == RobotsRuleSet::kNone) return RobotsReason::kNoRuleMatches;
  rule = &file.rules[found];
  return RobotsReason::kRule;
}

const std::vector<std::string>& Robots::Rules::sitemaps() const {
  std::call_once(sitemaps_read, [this] {
    sitemap_urls = file.sitemap_urls();
    std::size_t bytes = sitemap_urls.capacity() * sizeof(std::string);
    for (const std::string& url : sitemap_urls)
      if (url.capacity() > std::string().capacity()) bytes += url.capacity() + kMallocBytes;
    memory.fetch_add(bytes, std::memory_order_relaxed);
  });
  return sitemap_urls;
}

Robots Robots::parse(std::string_view bytes, RobotsOptions options) {
  return Robots(std::make_shared<const Rules>(bytes, options));
}

Robots Robots::allow_all() {
  static const auto rules =
      std::make_shared<const Rules>(true);  // shared, since most sites have no robots.txt
  return Robots(rules);
}

Robots Robots::disallow_all() {
  static const auto rules = std::make_shared<const Rules>(false);
  return Robots(rules);
}

bool Robots::allowed(std::string_view agent, const Url& url) const {
  const RobotsRule* rule = nullptr;
  const RobotsReason reason = rules_->find(agent, url, rule);
  return rules_->allows(reason, rule);
}

RobotsDecision Robots::decide(std::string_view agent, const Url& url) const {
  const RobotsRule* rule = nullptr;
  RobotsDecision decision;
  decision.reason = rules_->find(agent, url, rule);
  decision.allowed = rules_->allows(decision.reason, rule);
  if (rule != nullptr) {
    decision.line = rule->number;
    decision.text = rules_->file.view(rule->line);
  }
  return decision;
}

std::optional<std::chrono::milliseconds> Robots::crawl_delay(std::string_view agent) const {
  std::optional<std::chrono::milliseconds> shortest;
  for (const RobotsAgent& entry : rules_->file.agents_for(agent)) {
    const auto& delay = rules_->file.groups[entry.group].delay;
    if (delay && (!shortest || *delay < *shortest)) shortest = delay;
  }
  return shortest;
}

const std::vector<std::string>& Robots::sitemaps() const {
  return rules_->sitemaps();
}

std::size_t Robots::memory() const noexcept {
  return rules_->memory.load(std::memory_order_relaxed);
}

}  // namespace trawl
