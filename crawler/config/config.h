// CrawlConfig: everything a crawl can be told, as read from a TOML file.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "trawl/canonical_profile.h"
#include "trawl/frontier.h"
#include "trawl/links.h"
#include "trawl/url.h"

namespace trawl {

enum class ScopeType { kPrefix, kHost, kDomain, kAny };
enum class Durability { kAsync, kSync };

// Defaults are what a config file that does not name the key gets. Relative paths are relative to
// the current directory. A new key is a field here and an entry in config_keys.cc.
struct CrawlConfig {
  struct Crawl {
    std::vector<std::string> seeds;   // parsed and serialised; those of seed_file appended
    std::filesystem::path seed_file;  // empty: none
    std::string user_agent = "trawl/0.1";
    std::filesystem::path state_dir;
    friend bool operator==(const Crawl&, const Crawl&) = default;
  } crawl;
  struct Scope {
    ScopeType type = ScopeType::kHost;
    std::optional<std::uint32_t> max_depth;  // unlimited if absent; seeds have depth 0
    std::optional<std::uint64_t> max_pages;  // unlimited if absent; finished fetches
    std::uint32_t max_url_length = 2083;     // bytes
    friend bool operator==(const Scope&, const Scope&) = default;
  } scope;
  struct Politeness {
    std::chrono::milliseconds delay{1000};
    std::chrono::milliseconds domain_delay{0};
    std::chrono::milliseconds ip_delay{0};
    double adaptive_delay = 0;  // times a host's response time; 0: none
    std::chrono::milliseconds max_adaptive_delay{60'000};
    std::uint32_t per_host_connections = 1;
    bool respect_robots = true;
    std::chrono::milliseconds max_crawl_delay{30'000};
    std::uint32_t robots_retries = 4;
    std::chrono::milliseconds robots_backoff{1000};
    std::chrono::milliseconds robots_max_age = std::chrono::hours(24);
    friend bool operator==(const Politeness&, const Politeness&) = default;
  } politeness;
  struct Fetch {
    std::uint32_t threads = 2;
    std::uint32_t connections = 200;  // over all threads
    std::chrono::milliseconds timeout{30'000};
    std::uint64_t max_body = 10u << 20;  // bytes, after decompression
    std::uint32_t max_redirects = 10;    // in a row
    bool http2 = true;
    // Absent: allowed if a seed's own host is a private or loopback address or "localhost".
    std::optional<bool> allow_private_addresses;
    std::filesystem::path ca_file;  // PEM; empty: the system's
    friend bool operator==(const Fetch&, const Fetch&) = default;
  } fetch;
  struct Links {
    LinkKinds kinds = LinkKinds::pages();
    LinkEngine engine = LinkEngine::kScanner;
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
    friend bool operator==(const FrontierStore&, const FrontierStore&) = default;
  } frontier;
  struct Checkpoint {
    std::chrono::milliseconds interval{60'000};
    std::uint64_t admissions = 0;  // 0: not by their number
    std::uint64_t max_rate = 0;    // bytes a second; 0: unlimited
    std::uint32_t keep = 2;
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
  } checkpoint;
  struct Output {
    std::filesystem::path directory;  // empty: "output" in the state directory
    friend bool operator==(const Output&, const Output&) = default;
  } output;
  struct Log {
    std::string level = "info";  // trace, debug, info, warn, error, off
    std::filesystem::path file;  // empty: standard error
    friend bool operator==(const Log&, const Log&) = default;
  } log;

  friend bool operator==(const CrawlConfig&, const CrawlConfig&) = default;
};

// One thing wrong with a config. `line` and `column` count from 1; 0 where there is none (a
// --set override, a file that cannot be read).
struct ConfigError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key and what was expected

  // "file:line:column: message", without the numbers that are 0.
  std::string to_string() const;
};

template <class T>
using ConfigResult = tl::expected<T, std::vector<ConfigError>>;

// Reads and validates a config file; `overrides` are "table.key=value" with the value in TOML, or
// a bare word taken as a string. Every error found is returned, not only the first.
ConfigResult<CrawlConfig> load_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides = {});
// The same for TOML text; `name` stands for the file in errors.
ConfigResult<CrawlConfig> parse_config(std::string_view toml, const std::string& name,
                                       const std::vector<std::string>& overrides = {});

// The config as TOML that parse_config reads back to the same values; paths made absolute, seeds
// of a seed file inlined.
std::string to_toml(const CrawlConfig& config);

}  // namespace trawl
