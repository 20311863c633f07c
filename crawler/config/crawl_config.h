// CrawlConfig: the configuration of a crawl, read from a TOML file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/canonical_profile.h"
#include "trawl/embedded_options.h"
#include "trawl/frontier_options.h"
#include "trawl/links.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/cluster_config.h"
#include "crawler/config/found_as.h"
#include "crawler/config/log_room.h"

namespace trawl {

enum class ScopeType { kPage, kPrefix, kHost, kDomain, kAny };
enum class CrawlOrder { kBreadthFirst, kDepthFirst, kPriority };
enum class IpVersion { kAny, kV4, kV6 };
// What a page's <link rel=canonical> means.
enum class CanonicalLinks { kRecord, kKey };
enum class LogFormat { kText, kJson };
enum class DigestAlgorithm { kAuto, kSha1, kXxh128 };

// A pattern of URLs as written: a glob, or "re:" and a regular expression; see url_pattern.h.
struct ScopeRuleText {
  bool include = false;
  std::string pattern;
  std::string name = {};  // for `trawl explain`; empty: the pattern itself
  FoundKinds kinds = {};  // the URLs that it is for, by how they were found; none: all
  friend bool operator==(const ScopeRuleText&, const ScopeRuleText&) = default;
};
// Where a crawl guesses links.
struct GuessSources {
  bool scripts = false;
  bool json = false;
  bool any() const { return scripts || json; }
  friend bool operator==(const GuessSources&, const GuessSources&) = default;
};
// A seed with settings of its own, for it and the URLs found from it.
struct SeedText {
  std::string url = {};                               // parsed and serialised
  std::optional<std::uint32_t> depth = std::nullopt;  // absent: scope.max_depth
  std::optional<ScopeType> scope = std::nullopt;      // absent: scope.type
  std::optional<std::int32_t> priority = std::nullopt;
  std::string note = {};
  friend bool operator==(const SeedText&, const SeedText&) = default;
};
// Statuses of responses, from `first` to `last`.
struct StatusRange {
  int first = 0;
  int last = 0;
  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};
// A rule on responses, by their content type ("image/*", "*/*") and status.
struct ResponseRuleText {
  bool include = false;
  std::string type;
  std::vector<StatusRange> statuses = {};  // none: all
  friend bool operator==(const ResponseRuleText&, const ResponseRuleText&) = default;
};
struct PriorityRuleText {
  std::string pattern;
  std::int32_t priority = 0;  // -1000 to 1000
  friend bool operator==(const PriorityRuleText&, const PriorityRuleText&) = default;
};
struct RecrawlRuleText {
  std::string pattern;
  std::optional<std::chrono::milliseconds> interval;  // absent: not fetched again
  friend bool operator==(const RecrawlRuleText&, const RecrawlRuleText&) = default;
};
// Settings for requests to a host, or to ".example.com" and its subdomains.
struct HostRequestsText {
  std::string host;
  std::vector<std::string> headers;  // "Name: value"; in addition to fetch.headers
  std::string basic_auth;            // "user:password"
  std::string bearer_token;
  std::optional<bool> cookies;       // absent: fetch.cookies
  std::optional<bool> referer;       // absent: fetch.referer
  std::optional<std::string> proxy;  // absent: fetch.proxy; empty: none
  friend bool operator==(const HostRequestsText&, const HostRequestsText&) = default;
};

// A form that is sent before a host, or ".example.com" and its subdomains, is fetched.
struct LoginText {
  std::string url = {};  // where the form goes; parsed and serialised
  // Names and values, in the order of the names. The values are secrets.
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::string page = {};  // of the form, parsed and serialised; empty: `url` without its query
  std::string host = {};  // see HostPlaces::normal(); read as the host of `url` if not given
  friend bool operator==(const LoginText&, const LoginText&) = default;
};

// Politeness for a host, or for ".example.com" and its subdomains. Absent: as for all hosts.
struct HostPolitenessText {
  std::string host = {};
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
  std::optional<std::uint32_t> connections = std::nullopt;
  std::optional<bool> respect_robots = std::nullopt;
  std::optional<std::uint64_t> max_pages = std::nullopt;  // in place of scope.max_pages_per_host
  std::optional<std::uint64_t> max_urls = std::nullopt;   // in place of scope.max_urls_per_host
  // The user's own host: `delay` and `connections` hold even where they demand less than
  // politeness.delay or robots.txt.
  bool own = false;
  friend bool operator==(const HostPolitenessText&, const HostPolitenessText&) = default;
};

// Defaults are what a config file that does not name the key gets. Relative paths are relative to
// the current directory. A new key is a field here and a row in config_keys.cc, which says what it
// does.
struct CrawlConfig {
  struct Crawl {
    // Parsed and serialised, including those of seed_file and of seed_settings.
    std::vector<std::string> seeds;
    std::filesystem::path seed_file;      // empty: none
    std::vector<SeedText> seed_settings;  // [[seed]]
    std::vector<std::string> sitemaps;    // parsed and serialised; the pages they list are seeds
    std::string user_agent = "trawl/0.1";
    std::string robots_token;  // empty: the token of the user agent
    std::filesystem::path state_dir;
    CrawlOrder order = CrawlOrder::kBreadthFirst;
    std::vector<PriorityRuleText> priorities;  // first match wins
    friend bool operator==(const Crawl&, const Crawl&) = default;
  } crawl;
  struct Scope {
    ScopeType type = ScopeType::kHost;
    std::optional<std::uint32_t> max_depth;  // unlimited if absent; seeds have depth 0
    std::optional<std::uint64_t> max_pages;  // unlimited if absent; finished fetches
    std::optional<std::uint64_t> max_pages_per_host;
    std::optional<std::uint64_t> max_bytes;             // all bodies together, as received
    std::optional<std::chrono::milliseconds> max_time;  // of one run
    std::uint32_t extra_hops = 0;                       // links followed out of scope, in a row
    std::vector<ScopeRuleText> rules;                   // first match wins, before the next two
    std::vector<std::string> exclude;                   // patterns, tried before `include`
    std::vector<std::string> include;
    std::vector<std::filesystem::path> blocklist;  // filters of `trawl filter build`, or text files
    std::uint32_t max_url_length = LimitOptions{}.max_url_length;  // bytes
    std::uint32_t max_path_segments = 50;
    std::uint32_t max_repeated_segments =
        4;  // how often a segment, or a run of segments, may be repeated
    std::uint32_t max_query_parameters = 50;
    std::optional<std::uint64_t> max_urls_per_host;  // queued URLs
    // The number of pages of a URL pattern without new content after which its URLs wait behind all
    // others, and after which the pattern is parked; 0 disables.
    std::uint32_t slow_pattern_after = 200;
    std::uint32_t park_pattern_after = 1000;
    friend bool operator==(const Scope&, const Scope&) = default;
  } scope;
  struct Politeness {
    std::chrono::milliseconds delay = PolitenessOptions{}.delay;
    std::chrono::milliseconds domain_delay = PolitenessOptions{}.domain_delay;
    std::chrono::milliseconds ip_delay = PolitenessOptions{}.ip_delay;
    double adaptive_delay =
        PolitenessOptions{}.adaptive_delay;  // multiple of a host's response time; 0 disables
    std::chrono::milliseconds max_adaptive_delay = PolitenessOptions{}.max_adaptive_delay;
    std::uint32_t per_host_connections = PolitenessOptions{}.leases_per_host;
    bool respect_robots = true;
    std::chrono::milliseconds max_crawl_delay{30'000};
    std::uint32_t robots_retries = 7;
    std::chrono::milliseconds robots_backoff{1000};
    std::chrono::milliseconds robots_max_age = std::chrono::hours(24);
    std::uint32_t retries = RetryOptions{}.retries;
    std::chrono::milliseconds retry_delay = RetryOptions{}.retry_delay;
    std::chrono::milliseconds host_backoff = RetryOptions{}.host_backoff;
    std::chrono::milliseconds max_host_backoff = RetryOptions{}.max_host_backoff;
    std::chrono::milliseconds max_retry_after = std::chrono::hours(1);
    // Failures in a row after which a host is parked; 0: only after a long silence, if it answered
    // before.
    std::uint32_t host_failures = RetryOptions{}.host_failures;
    std::chrono::milliseconds park_time = std::chrono::hours(24);  // 0: until the next run
    double max_rate = 0;  // requests per second over all hosts; 0: unlimited
    std::vector<HostPolitenessText> hosts;
    friend bool operator==(const Politeness&, const Politeness&) = default;
  } politeness;
  struct Fetch {
    std::uint32_t threads = 2;
    std::uint32_t connections = 200;  // over all threads
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds first_byte_timeout{20'000};
    std::chrono::milliseconds timeout{60'000};  // whole transfer
    std::uint64_t min_speed = 0;                // bytes per second; 0 disables
    std::chrono::milliseconds min_speed_time{10'000};
    std::uint64_t limit_rate = 0;            // bytes per second over all transfers; 0: unlimited
    std::uint64_t max_body = 10u << 20;      // bytes, after decompression
    std::uint64_t max_download = 10u << 20;  // bytes, before decompression
    std::uint64_t max_header = 256u << 10;   // bytes of all headers of a response
    // Bytes of all bodies in flight or waiting to be written, cookies, and limits of hosts.
    std::uint64_t max_memory = 256u << 20;
    std::uint32_t max_redirects = 10;        // in a row
    std::vector<std::string> content_types;  // "text/*"; empty: all
    bool http2 = true;
    IpVersion ip_version = IpVersion::kAny;
    std::vector<std::string> dns_servers;  // "127.0.0.1:53"; empty: the system's
    std::chrono::milliseconds dns_timeout{5'000};
    std::chrono::milliseconds dns_negative_age{30'000};
    std::string proxy;  // "http://...", "socks5://..."; empty: none
    std::vector<std::string> headers;
    bool cookies = false;
    std::filesystem::path cookies_file;  // cookies.txt; empty: none. Implies `cookies`
    std::vector<std::string> secret_headers;
    bool referer = false;
    std::vector<HostRequestsText> hosts;
    std::vector<LoginText> logins;  // [[login]]; imply cookies for their hosts
    bool allow_private_addresses = false;
    bool verify_tls = true;
    std::filesystem::path ca_file;  // PEM; empty: the system's
    friend bool operator==(const Fetch&, const Fetch&) = default;
  } fetch;
  struct Links {
    LinkKinds kinds = LinkKinds::pages();
    // Fetch what a browser loads to show a page in scope, wherever it is.
    bool requisites = false;
    GuessSources guess;       // where strings that look like URLs count as links
    bool lazy_images = true;  // with `requisites`: guess what scripts load later
    LinkEngine engine = LinkEngine::kScanner;
    bool respect_nofollow = true;  // rel=nofollow, meta robots, X-Robots-Tag
    bool sitemaps = false;         // read sitemaps named in robots.txt
    bool guess_sitemaps = false;   // ask for /sitemap.xml where robots.txt names none
    bool feeds = true;             // follow the entries of RSS and Atom feeds
    bool from_duplicates = true;   // follow links of pages with a body seen before
    CanonicalLinks canonical = CanonicalLinks::kRecord;
    std::vector<ResponseRuleText> rules;  // which responses are read; first match wins
    // The types of pages read for links if no rule decides; empty: HTML.
    std::vector<std::string> content_types;
    friend bool operator==(const Links&, const Links&) = default;
  } links;
  // Rules for canonical keys, as written: see Profile::from_text().
  struct UrlRules {
    RulesText text;
    std::vector<HostRulesText> hosts;
    friend bool operator==(const UrlRules&, const UrlRules&) = default;
  } url;
  struct Filter {
    std::uint64_t expected_urls = 1'000'000;
    double false_positive_rate = 1e-6;
    // Bytes. Absent: half of the machine's memory.
    std::optional<std::uint64_t> max_memory;
    FilterMode mode = FilterMode::kBloom;
    friend bool operator==(const Filter&, const Filter&) = default;
  } filter;
  struct FrontierStore {
    Durability durability = Durability::kAsync;
    std::uint64_t max_memory = 256u << 20;  // bytes
    bool ledger = false;
    std::uint64_t max_set_aside = 10'000'000;  // held and failed URLs
    friend bool operator==(const FrontierStore&, const FrontierStore&) = default;
  } frontier;
  struct Checkpoint {
    std::chrono::milliseconds max_replay{30'000};
    std::optional<std::chrono::milliseconds> interval;
    std::uint64_t admissions = 0;  // 0 disables
    std::uint64_t max_rate = 0;    // bytes per second; 0: unlimited
    std::uint32_t keep = 2;
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
  } checkpoint;
  ClusterConfig cluster;
  struct Recrawl {
    std::optional<std::chrono::milliseconds> interval;  // absent: only by `rules`
    std::vector<RecrawlRuleText> rules;                 // first match wins
    std::optional<std::chrono::milliseconds> failed;  // of URLs that were not a page; absent: never
    bool by_sitemap = false;  // pages with a lastmod: when it is later, not after an interval
    bool adaptive = true;     // halve the interval if a page changed, double it if not
    std::chrono::milliseconds min_interval = std::chrono::hours(1);
    std::chrono::milliseconds max_interval = std::chrono::hours(24 * 30);
    bool wait = false;  // wait for recrawls that are due later, instead of ending
    friend bool operator==(const Recrawl&, const Recrawl&) = default;
    bool enabled() const { return interval || failed || !rules.empty(); }
  } recrawl;
  struct Output {
    std::filesystem::path directory;  // empty: "output" in the state directory
    bool pages = true;
    bool links = false;
    bool skipped = false;
    bool files = false;  // the bodies of pages, each as a file
    bool text = false;   // of pages, in pages.jsonl
    DigestAlgorithm digest = DigestAlgorithm::kAuto;
    bool warc = false;
    bool cdxj = true;  // for each WARC file
    std::string warc_prefix = "trawl";
    std::uint64_t warc_size = 1u << 30;      // a larger file is closed
    std::chrono::milliseconds warc_time{0};  // and after this time; 0 disables
    std::vector<std::string> known;          // CDXJ files of earlier crawls: "old/*.cdxj"
    bool warc_metadata = true;               // a metadata record for each page
    std::string warc_operator;               // for the warcinfo record
    std::string warc_description;
    std::vector<ResponseRuleText> rules;     // which responses are kept; first match wins
    std::vector<std::string> content_types;  // the types kept if no rule decides; empty: all
    // Whether the bodies of pages that ask for it are not kept: meta robots, X-Robots-Tag.
    bool respect_noarchive = false;
    bool respect_noindex = false;
    // Bytes. With less free on the disk of the state or the output the crawl pauses, and ends if
    // that lasts for min_free_wait. 0 disables.
    std::uint64_t min_free = 0;
    std::chrono::milliseconds min_free_wait = std::chrono::minutes(1);
    friend bool operator==(const Output&, const Output&) = default;
  } output;
  struct Status {
    std::string listen;  // "127.0.0.1:8088"; empty: no status page. See parse_listen_address().
    bool token = false;  // reading needs the token, too
    friend bool operator==(const Status&, const Status&) = default;
  } status;
  struct Log {
    std::string level = "info";  // trace, debug, info, warn, error, off
    std::vector<LogRoomLevel> levels = {};
    LogFormat format = LogFormat::kText;
    std::filesystem::path file;  // empty: standard error
    std::uint64_t max_size = 0;  // bytes of `file`, beyond which another begins; 0 disables
    std::uint32_t keep = 5;      // files besides the current one
    friend bool operator==(const Log&, const Log&) = default;
  } log;

  friend bool operator==(const CrawlConfig&, const CrawlConfig&) = default;
};

// An error in a config. `line` and `column` count from 1; 0 if there is none (a --set override, an
// unreadable file).
struct ConfigError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key and what was expected

  // "file:line:column: message", without the numbers that are 0.
  std::string to_string() const;
};

// Those of a file that a config names.
struct FileErrors {
  std::vector<ConfigError> listed;  // the first
  std::size_t unlisted = 0;         // number of further ones

  // `most`: how many are listed.
  void add(ConfigError error, std::size_t most) {
    if (listed.size() < most) {
      listed.push_back(std::move(error));
    } else {
      ++unlisted;
    }
  }
};

template <class T>
using ConfigResult = tl::expected<T, std::vector<ConfigError>>;

// Reads and validates a config file. `overrides`: "table.key=value" with the value in TOML, or a
// bare word as a string. Returns all errors, not only the first.
ConfigResult<CrawlConfig> load_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides = {});
// The same for TOML text; `name` is used as the file name in errors.
ConfigResult<CrawlConfig> parse_config(std::string_view toml, const std::string& name,
                                       const std::vector<std::string>& overrides = {});

// The config as TOML, from which parse_config() reads the same values. Paths are absolute, seeds of
// a seed file are inlined.
std::string to_toml(const CrawlConfig& config);

}  // namespace trawl
