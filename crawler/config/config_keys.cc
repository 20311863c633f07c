#include "crawler/config/config_keys.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "trawl/url.h"

#include "crawler/config/config_key_types.h"
#include "crawler/config/links_keys.h"
#include "crawler/config/url_rules_keys.h"

// The field of a CrawlConfig, const or not, that a key stands for.
#define TRAWL_FIELD(member)   \
  [](auto& config) -> auto& { \
    return config.member;     \
  }

namespace trawl {
namespace {

using namespace std::chrono_literals;
using config_key::boolean;
using config_key::duration;
using config_key::factor;
using config_key::integer;
using config_key::one_of;
using config_key::path;
using config_key::probability;
using config_key::size;
using config_key::Word;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr auto kDay = 24h;

constexpr std::array kScopeTypes = {
    Word<ScopeType>{"prefix", ScopeType::kPrefix}, Word<ScopeType>{"host", ScopeType::kHost},
    Word<ScopeType>{"domain", ScopeType::kDomain}, Word<ScopeType>{"any", ScopeType::kAny}};
constexpr std::array kDurabilities = {Word<Durability>{"async", Durability::kAsync},
                                      Word<Durability>{"sync", Durability::kSync}};
constexpr std::array kFilterModes = {Word<FilterMode>{"bloom", FilterMode::kBloom},
                                     Word<FilterMode>{"exact", FilterMode::kExact}};
constexpr std::array kLogLevels = {
    Word<std::string_view>{"trace", "trace"}, Word<std::string_view>{"debug", "debug"},
    Word<std::string_view>{"info", "info"},   Word<std::string_view>{"warn", "warn"},
    Word<std::string_view>{"error", "error"}, Word<std::string_view>{"off", "off"}};

// Each seed is checked by itself, so that each bad one is named with its place.
ConfigKey seeds_key() {
  ConfigKey key;
  key.name = "crawl.seeds";
  key.type = "an array of http(s) URLs such as [\"https://example.com/\"]";
  key.doc = "where the crawl starts; may be left out if `seed_file` names some";
  key.read = [type = key.type](const toml::node& node, CrawlConfig& config,
                               const ConfigComplaint& complain) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return complain(node, config_key::mismatch(type, "", node));
    config.crawl.seeds.clear();
    for (const toml::node& element : *array) {
      const auto text = element.value_exact<std::string_view>();
      const auto url = text ? Url::parse(*text) : fail(ErrorCode::kInvalidUrl, "");
      if (url) {
        config.crawl.seeds.emplace_back(url->href());
      } else {
        complain(element, config_key::mismatch("each seed to be an http(s) URL", "", element,
                                               url.error().message));
      }
    }
  };
  key.write = [](const CrawlConfig& config) {
    std::string out = "[";
    for (const std::string& seed : config.crawl.seeds)
      out += "\n  " + toml_string(seed) + ",";
    return out + (config.crawl.seeds.empty() ? "]" : "\n]");
  };
  return key;
}

// A seed file's seeds are written with the others, so that the file itself need not be there.
ConfigKey seed_file_key() {
  ConfigKey key = path("crawl.seed_file", TRAWL_FIELD(crawl.seed_file),
                       "a file of more seeds, one URL a line; blank lines and lines that start "
                       "with # are skipped");
  key.write = [](const CrawlConfig&) { return std::string(); };
  return key;
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    // U+0080 to U+009F in UTF-8.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      return true;
    }
  }
  return false;
}

ConfigKey user_agent_key() {
  return config_key::scalar(
      "crawl.user_agent", "a string", "1 to 512 bytes without control characters",
      TRAWL_FIELD(crawl.user_agent),
      "what servers are told who crawls; a contact address in it is good manners",
      [](const toml::node& node, std::string&) -> std::optional<std::string> {
        const auto text = node.value_exact<std::string_view>();
        if (!text || text->empty() || text->size() > 512 || has_control_character(*text)) {
          return std::nullopt;
        }
        return std::string(*text);
      },
      [](const std::string& value) { return toml_string(value); });
}

ConfigKey log_level_key() {
  return one_of("log.level", kLogLevels, TRAWL_FIELD(log.level),
                "how much is logged: messages of this weight and heavier");
}

void add_crawl_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(seeds_key());
  keys.push_back(seed_file_key());
  keys.push_back(user_agent_key());
  keys.push_back(path("crawl.state_dir", TRAWL_FIELD(crawl.state_dir),
                      "the directory that holds the state of the crawl, which `trawl resume` goes "
                      "on from; must be given"));
}

void add_scope_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(one_of("scope.type", kScopeTypes, TRAWL_FIELD(scope.type),
                        "which links are followed: below a seed's folder, on a seed's host, on "
                        "its registrable domain, or all"));
  keys.push_back(integer("scope.max_depth", "links", 0, std::numeric_limits<std::uint32_t>::max(),
                         TRAWL_FIELD(scope.max_depth),
                         "how many links away from a seed a page may be; unset: no limit"));
  keys.push_back(integer("scope.max_pages", "fetches", 1, kUnlimited, TRAWL_FIELD(scope.max_pages),
                         "the crawl ends after so many finished fetches; unset: no limit"));
  keys.push_back(integer("scope.max_url_length", "bytes", 32, 65536,
                         TRAWL_FIELD(scope.max_url_length), "longer URLs are dropped"));
}

void add_politeness_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(duration("politeness.delay", 0ms, kDay, TRAWL_FIELD(politeness.delay),
                          "the time between the starts of two requests to one host"));
  keys.push_back(duration("politeness.domain_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.domain_delay),
                          "the same for the hosts of a registrable domain together"));
  keys.push_back(duration("politeness.ip_delay", 0ms, kDay, TRAWL_FIELD(politeness.ip_delay),
                          "the same for the hosts at an IP address together; counts from the "
                          "first answer of a host on, when its address is known"));
  keys.push_back(factor("politeness.adaptive_delay", 1000, TRAWL_FIELD(politeness.adaptive_delay),
                        "a host's delay is at least so many times its response time of late; 0: "
                        "no such delay"));
  keys.push_back(duration("politeness.max_adaptive_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.max_adaptive_delay),
                          "the longest delay that a slow host gets on that account"));
  keys.push_back(integer("politeness.per_host_connections", "requests", 1, 1024,
                         TRAWL_FIELD(politeness.per_host_connections),
                         "how many requests to one host may be under way at once"));
  keys.push_back(boolean("politeness.respect_robots", TRAWL_FIELD(politeness.respect_robots),
                         "obey robots.txt"));
  keys.push_back(duration("politeness.max_crawl_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.max_crawl_delay),
                          "the longest Crawl-delay of a robots.txt that is obeyed; a longer one is "
                          "taken for this"));
  keys.push_back(integer("politeness.robots_retries", "requests", 0, 100,
                         TRAWL_FIELD(politeness.robots_retries),
                         "how often a robots.txt that cannot be fetched is asked for again before "
                         "the URLs that wait for it fail"));
  keys.push_back(duration("politeness.robots_backoff", 0ms, kDay,
                          TRAWL_FIELD(politeness.robots_backoff),
                          "the wait before it is asked for again; twice as long each time, and at "
                          "least what its Retry-After says"));
  keys.push_back(duration("politeness.robots_max_age", 1ms, kDay,
                          TRAWL_FIELD(politeness.robots_max_age),
                          "how long a robots.txt is obeyed before it is fetched again; shorter if "
                          "its Cache-Control says so"));
}

void add_fetch_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("fetch.threads", "threads", 1, 1024, TRAWL_FIELD(fetch.threads),
                         "threads that fetch and parse; one a core is right"));
  keys.push_back(integer("fetch.connections", "requests", 1, 65536, TRAWL_FIELD(fetch.connections),
                         "how many requests may be under way at once, over all threads"));
  keys.push_back(duration("fetch.timeout", 1ms, kDay, TRAWL_FIELD(fetch.timeout),
                          "the longest a request may take, from connecting to the last byte"));
  keys.push_back(size("fetch.max_body", 1, 4ull << 30, TRAWL_FIELD(fetch.max_body),
                      "a page with more bytes, after decompression, is a failed fetch"));
  keys.push_back(integer("fetch.max_redirects", "redirects", 0, 100,
                         TRAWL_FIELD(fetch.max_redirects),
                         "how many redirects in a row are followed"));
  keys.push_back(
      boolean("fetch.http2", TRAWL_FIELD(fetch.http2), "speak HTTP/2 with servers that offer it"));
  keys.push_back(boolean("fetch.allow_private_addresses",
                         TRAWL_FIELD(fetch.allow_private_addresses),
                         "fetch from loopback and private addresses; unset: only if a seed's own "
                         "host is one"));
  keys.push_back(path("fetch.ca_file", TRAWL_FIELD(fetch.ca_file),
                      "certificates (PEM) to trust; unset: those of the system"));
}

void add_filter_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("filter.expected_urls", "URLs", 1, 1'000'000'000'000,
                         TRAWL_FIELD(filter.expected_urls),
                         "how many URLs the filter of seen URLs is sized for at first; beyond, it "
                         "grows"));
  keys.push_back(probability("filter.false_positive_rate", TRAWL_FIELD(filter.false_positive_rate),
                             "the share of new URLs wrongly taken for seen, however many come; "
                             "1e-6 takes 40 bits of memory a URL, 1e-4 takes 23"));
  keys.push_back(size("filter.max_memory", 1, 1ull << 50, TRAWL_FIELD(filter.max_memory),
                      "what the filter may grow to; beyond, the rate rises; unset: half of the "
                      "machine's memory"));
  keys.push_back(one_of("filter.mode", kFilterModes, TRAWL_FIELD(filter.mode),
                        "\"bloom\": the filter alone decides what was seen; \"exact\": what it "
                        "takes for seen is looked up in the ledger, and no URL is lost; not for a "
                        "crawl that began without a ledger"));
}

void add_storage_keys(std::vector<ConfigKey>& keys) {
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
  keys.push_back(duration("checkpoint.interval", 1ms, 7 * kDay, TRAWL_FIELD(checkpoint.interval),
                          "the time between two checkpoints"));
  keys.push_back(integer("checkpoint.admissions", "URLs", 0, kUnlimited,
                         TRAWL_FIELD(checkpoint.admissions),
                         "a checkpoint is also taken when so many URLs were queued since the last; "
                         "0: not so"));
  keys.push_back(size("checkpoint.max_rate", 0, 1ull << 50, TRAWL_FIELD(checkpoint.max_rate),
                      "how much a checkpoint may write a second, so that it leaves room on a slow "
                      "disk; 0: as fast as it can"));
  keys.push_back(integer("checkpoint.keep", "checkpoints", 1, 100, TRAWL_FIELD(checkpoint.keep),
                         "how many checkpoints are kept; an older one steps in for a damaged one"));
}

void add_output_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(path("output.directory", TRAWL_FIELD(output.directory),
                      "where pages.jsonl goes; unset: `output` in the state directory"));
  keys.push_back(log_level_key());
  keys.push_back(path("log.file", TRAWL_FIELD(log.file),
                      "a file to append the log to; unset: standard error"));
}

std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys;
  add_crawl_keys(keys);
  add_scope_keys(keys);
  add_politeness_keys(keys);
  add_fetch_keys(keys);
  add_links_keys(keys);
  add_url_keys(keys);
  add_filter_keys(keys);
  add_storage_keys(keys);
  add_output_keys(keys);
  return keys;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

const ConfigKey* find_config_key(std::string_view name) {
  const auto keys = config_keys();
  const auto found = std::ranges::find(keys, name, &ConfigKey::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_config_table(std::string_view name) {
  return std::ranges::any_of(config_keys(),
                             [name](const ConfigKey& key) { return key.table() == name; });
}

}  // namespace trawl
