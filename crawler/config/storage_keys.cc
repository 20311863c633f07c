// The keys of [filter], [frontier] and [checkpoint]: what the crawl remembers, and how.
#include <array>
#include <limits>
#include <vector>

#include "trawl/embedded_options.h"

#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

using namespace std::chrono_literals;
using config_key::boolean;
using config_key::duration;
using config_key::integer;
using config_key::one_of;
using config_key::size;
using config_key::Word;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::array kDurabilities = {Word<Durability>{"async", Durability::kAsync},
                                      Word<Durability>{"sync", Durability::kSync}};
constexpr std::array kFilterModes = {Word<FilterMode>{"bloom", FilterMode::kBloom},
                                     Word<FilterMode>{"exact", FilterMode::kExact}};

void add_filter_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("filter.expected_urls", "URLs", 1, 1'000'000'000'000,
                         TRAWL_FIELD(filter.expected_urls),
                         "how many URLs the filter of seen URLs is sized for at first; beyond, it "
                         "grows"));
  keys.push_back(
      config_key::probability("filter.false_positive_rate", TRAWL_FIELD(filter.false_positive_rate),
                              "the share of new URLs wrongly taken for seen, however many come; "
                              "what only such pages link to is missed as well; 1e-6 takes 40 bits "
                              "of memory a URL, 1e-4 takes 23"));
  keys.push_back(size("filter.max_memory", 1, 1ull << 50, TRAWL_FIELD(filter.max_memory),
                      "what the filter may grow to; beyond, the rate rises; unset: half of the "
                      "machine's memory"));
  keys.push_back(one_of("filter.mode", kFilterModes, TRAWL_FIELD(filter.mode),
                        "\"bloom\": the filter alone decides what was seen; \"exact\": what it "
                        "takes for seen is looked up in the ledger, and no URL is lost; not for a "
                        "crawl that began without a ledger"));
}

void add_frontier_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(one_of("frontier.durability", kDurabilities, TRAWL_FIELD(frontier.durability),
                        "what outlives a loss of power: \"sync\" all that was committed, "
                        "\"async\" what was committed up to a moment before; a killed process "
                        "loses nothing either way"));
  keys.push_back(size("frontier.max_memory", kMinFrontierMemory, 1ull << 50,
                      TRAWL_FIELD(frontier.max_memory),
                      "what queues, caches and buffers of the store may take; the filter and the "
                      "pages under way come on top"));
  keys.push_back(boolean("frontier.ledger", TRAWL_FIELD(frontier.ledger),
                         "keep a record on disk of each URL ever queued, with status and time of "
                         "its last fetch; always on with filter.mode = \"exact\". Stays what it "
                         "was when the crawl began"));
  keys.push_back(integer("frontier.max_set_aside", "URLs", 0, kUnlimited,
                         TRAWL_FIELD(frontier.max_set_aside),
                         "how many URLs that failed, or that a rule passed over, are kept for a "
                         "later run; links that were never queued take half of that at most; some "
                         "150 bytes each, on disk"));
  keys.push_back(duration("checkpoint.interval", 1ms, 7 * 24h, TRAWL_FIELD(checkpoint.interval),
                          "the time between two checkpoints"));
  keys.push_back(integer("checkpoint.admissions", "URLs", 0, kUnlimited,
                         TRAWL_FIELD(checkpoint.admissions),
                         "a checkpoint is also taken when so many URLs were queued since the last; "
                         "0 disables this"));
  keys.push_back(size("checkpoint.max_rate", 0, 1ull << 50, TRAWL_FIELD(checkpoint.max_rate),
                      "how much a checkpoint may write a second, so that it leaves room on a slow "
                      "disk; 0: as fast as it can"));
  keys.push_back(integer("checkpoint.keep", "checkpoints", 1, 100, TRAWL_FIELD(checkpoint.keep),
                         "how many checkpoints are kept; an older one steps in for a damaged one"));
}

}  // namespace

void add_storage_keys(std::vector<ConfigKey>& keys) {
  add_filter_keys(keys);
  add_frontier_keys(keys);
}

}  // namespace trawl
