// The rows of the table of config keys. A row gives the name (and with it the field of CrawlConfig,
// whose initialiser is the default), what values the key may have, what it does, and an example if
// it is unset by default. `trawl config-reference` writes docs/config.md and config/quickstart.toml
// from the rows: run scripts/config_reference.sh after a change.
#include "crawler/config/config_keys.h"

#include <algorithm>
#include <iterator>

#include "trawl/embedded_options.h"
#include "trawl/frontier_options.h"

#include "crawler/config/config_kinds.h"

// The row of a key that is called as its field, and of one that is not.
#define KEY(member, ...) KEY_OF(#member, member, __VA_ARGS__)
#define KEY_OF(name, member, ...) \
  row(                            \
      name, +[](CrawlConfig & c) -> auto& { return c.member; }, __VA_ARGS__)

namespace trawl {

namespace {

// Not `using namespace`, for a room is compiled as one.
namespace rows {

using namespace std::chrono_literals;
using namespace config_kind;
using Rows = std::vector<ConfigKey>;

constexpr std::int64_t kAnyU32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kPebibyte = 1ull << 50;
constexpr milliseconds kDay = 24h;

Rows crawl() {
  return {
      KEY(crawl.seeds, seeds(),
          "The http(s) URLs where the crawl starts. Required, unless seed_file has some.",
          R"(["https://example.com/"])"),
      KEY(crawl.seed_file, seed_file(),
          "A text file with more seeds, one URL per line. Blank lines and comments are skipped; a "
          "comment begins with a # at the start of a line or after a blank.",
          R"("seeds.txt")"),
      KEY_OF(
          "crawl.seed", crawl.seed_settings, seed_settings(),
          "Seeds with settings of their own, for the seed and for the URLs found from it: depth "
          "and scope as scope.max_depth and scope.type, the priority for order = \"priority\", "
          "and a note, which pages.jsonl has as seed_note. May be written as tables [[seed]].",
          R"([{ url = "https://example.com/blog/", depth = 2, scope = "prefix", note = "blog" }])"),
      KEY(crawl.sitemaps, sitemap_urls(),
          "Sitemaps, sitemap indexes or feeds to start from: the pages they list are seeds. They "
          "may be on any host.",
          R"(["https://example.com/sitemap.xml"])"),
      KEY(crawl.user_agent, text(1, 512),
          "How the crawler identifies itself to servers. Include a way to reach you, for example "
          "\"mybot/1.0 (+https://example.com/about-our-crawler)\"."),
      KEY(crawl.robots_token, robots_token(),
          "The name whose rules in robots.txt, X-Robots-Tag and robots meta tags are obeyed. If "
          "unset: the first name in user_agent or, if that begins with \"Mozilla\", the one in its "
          "\"(compatible; NAME/1.0)\".",
          R"("mybot")"),
      KEY(crawl.state_dir, path(),
          "The directory that holds the state of this crawl, for `trawl resume`. It is created if "
          "it does not exist. Required.",
          R"("quickstart-state")"),
      KEY(crawl.order,
          one_of<CrawlOrder>(
              {{"bfs", CrawlOrder::kBreadthFirst, "the fewest links away from a seed"},
               {"dfs", CrawlOrder::kDepthFirst, "the most links away from a seed"},
               {"priority", CrawlOrder::kPriority, "the highest priority: see `priorities`"}}),
          "Which of a host's URLs is fetched first."),
      KEY(crawl.priorities, priorities(),
          "For order = \"priority\": the first pattern that matches a URL gives its priority. "
          "Other URLs have the priority of their sitemap, -10 to 10, or 0.",
          R"([{ match = "*/news/*", priority = 100 }, { match = "*/archive/*", priority = -100 }])"),
  };
}

Rows scope_rules_and_type() {
  return {
      KEY(scope.type, scope_type(), "Which links are followed."),
      KEY(scope.rules, scope_rules(),
          "The first rule that matches a URL decides whether it is followed, regardless of the "
          "type. `trawl explain` and skipped.jsonl show the name of the rule.",
          R"([{ include = "*/docs/*.pdf" }, { exclude = "*.pdf", name = "other PDFs" }])"),
      KEY(scope.exclude, patterns(), "URLs that are not followed, if no rule decides.",
          R"(["*/calendar/*", "re:[?&]print="])"),
      KEY(scope.include, patterns(),
          "URLs that are followed in addition to those of the type, if neither a rule nor "
          "`exclude` decides.",
          R"(["cdn.example.com/*"])"),
      KEY(scope.blocklist, paths(),
          "Files of URLs, hosts or domains that are not fetched: filters made by `trawl filter "
          "build`, or text files with one entry per line.",
          R"(["blocked-hosts.txt"])"),
      KEY(scope.extra_hops, integer("links", 0, 100),
          "How many links in a row may lead out of scope."),
  };
}

Rows scope_limits() {
  return {
      KEY(scope.max_depth, integer("links", 0, kAnyU32),
          "How many links away from a seed a page may be; seeds have depth 0. If unset, there is "
          "no limit.",
          "10"),
      KEY(scope.max_pages, integer("fetches", 1),
          "The crawl ends after this many finished fetches, repeated fetches of a page included. "
          "If unset, there is no limit.",
          "1000"),
      KEY(scope.max_pages_per_host, integer("fetches", 1),
          "No more pages of a host are fetched after this many finished fetches. If unset, there "
          "is no limit.",
          "1000"),
      KEY(scope.max_bytes, size(1, 1ull << 60),
          "The crawl ends when all bodies together, as received over the network, have this size. "
          "If unset, there is no limit.",
          R"("10GiB")"),
      KEY(scope.max_time, duration(1ms, kMaxDelay),
          "A run of the crawl ends after this time. If unset, there is no limit.", R"("12h")"),
      KEY(scope.max_url_length, integer("bytes", 32, 65536),
          "URLs with more bytes, without the fragment, are skipped (`URL too long`). This limit "
          "and the next four protect against sites without end."),
      KEY(scope.max_path_segments, integer("segments", 1, 65536),
          "URLs with more parts between slashes are skipped (`too many path segments`)."),
      KEY(scope.max_repeated_segments, integer("times", 1, 65536),
          "URLs that repeat a path segment, or a run of them, more often in a row are skipped "
          "(`repeated path segments`)."),
      KEY(scope.max_query_parameters, integer("parameters", 0, 65536),
          "URLs with more query parameters are skipped (`too many query parameters`)."),
      KEY(scope.max_urls_per_host, integer("URLs", 1),
          "How many URLs of a host may be queued in a run, including those that are queued when it "
          "begins. More are held for a later run. If unset, there is no limit.",
          "100000"),
      KEY(scope.slow_pattern_after, integer("pages", 0, kAnyU32),
          "After this many pages without new content, URLs of the same pattern, such as "
          "/calendar/2026/11/21, wait behind all others. A page with new content halves the count. "
          "0 disables this."),
      KEY(scope.park_pattern_after, integer("pages", 0, kAnyU32),
          "After this many pages without new content, URLs of the pattern are no longer fetched. 0 "
          "disables this."),
  };
}

Rows politeness_delays() {
  return {
      KEY(politeness.delay, duration(0ms, kDay),
          "The time between the starts of two requests to one host."),
      KEY(politeness.domain_delay, duration(0ms, kDay),
          "The same for all hosts of a registrable domain together, such as a.example.com and "
          "b.example.com. \"0s\" disables this."),
      KEY(politeness.ip_delay, duration(0ms, kDay),
          "The same for all hosts at one IP address together, from a host's first answer on; not "
          "for requests through a proxy that resolves names. \"0s\" disables this."),
      KEY(politeness.adaptive_delay, factor(1000),
          "The delay of a host is at least this many times its recent response time. 0 disables "
          "this."),
      KEY(politeness.max_adaptive_delay, duration(0ms, kDay),
          "The longest delay that adaptive_delay may cause."),
      KEY(politeness.per_host_connections, integer("requests", 1, 1024),
          "How many requests to one host may be in progress at once. With more than one, the delay "
          "is kept between handing them out; a slow connection may bring two closer together."),
      KEY(politeness.max_rate, factor(1'000'000),
          "How many requests per second are started, over all hosts, those for robots.txt "
          "included. 0 disables this limit."),
      KEY_OF(
          "politeness.host", politeness.hosts, host_politeness(),
          "Other settings for a host, or for \".example.com\" and its subdomains: any of delay, "
          "connections, respect_robots, max_pages, max_urls. The longest of this delay, "
          "politeness.delay and Crawl-delay holds; with own = true, for hosts that are yours, this "
          "delay alone. See docs/operating.md.",
          R"([{ host = "slow.example.com", delay = "10s" }, { host = ".example.org", own = true, delay = "100ms", connections = 4 }])"),
  };
}

Rows politeness_robots() {
  return {
      KEY(politeness.respect_robots, boolean(), "Obey robots.txt."),
      KEY(politeness.max_crawl_delay, duration(0ms, kDay),
          "The longest Crawl-delay of a robots.txt that is obeyed; a longer one is shortened to "
          "this."),
      KEY(politeness.robots_retries, integer("requests", 0, 100),
          "How often a robots.txt that cannot be fetched (429, 5xx, no answer) is requested again "
          "before its host is parked. host_failures applies to it too."),
      KEY(politeness.robots_backoff, duration(0ms, kDay),
          "The wait before it is requested again. It doubles each time, with a random part on top, "
          "and is at least what Retry-After demands."),
      KEY(politeness.robots_max_age, duration(1ms, kDay),
          "How long a robots.txt is used before it is fetched again; shorter if its Cache-Control "
          "says so."),
  };
}

Rows politeness_backoff() {
  return {
      KEY(politeness.host_backoff, duration(0ms, kDay),
          "How long no request is made to a host that failed (429, 503, no answer, no connection). "
          "It doubles with each failure in a row, half of it is random, and it is at least what "
          "Retry-After demands."),
      KEY(politeness.max_host_backoff, duration(0ms, 7 * kDay),
          "The longest wait that host_backoff grows to."),
      KEY(politeness.max_retry_after, duration(0ms, 7 * kDay),
          "The longest Retry-After that is obeyed; a longer one is shortened to this."),
      KEY(politeness.host_failures, integer("failures", 0, 1'000'000),
          "A host that fails this many times in a row is parked: its URLs stay queued, but are not "
          "fetched in this run. 0 parks only hosts that answered before and then are silent for "
          "six times max_host_backoff and at least a minute."),
      KEY(politeness.park_time, duration(0ms, 30 * kDay),
          "How long a parked host is left alone while the run goes on; the next run requests it "
          "again in any case. \"0s\": for the whole run."),
  };
}

Rows fetch_requests() {
  return {
      KEY(fetch.threads, integer("threads", 1, 1024),
          "How many threads fetch and parse. One per core is best."),
      KEY(fetch.connections, integer("requests", 1, 65536),
          "How many requests may be in progress at once, over all threads."),
      KEY(fetch.max_redirects, integer("redirects", 0, 100),
          "How many redirects in a row are followed."),
      KEY_OF("fetch.retries", politeness.retries, integer("fetches", 0, 100),
             "How often a URL is fetched again after a temporary failure: no answer, a lost "
             "connection, failing name servers, 408, 425, 429, 502 to 504, 520 and above."),
      KEY_OF("fetch.retry_delay", politeness.retry_delay, duration(0ms, kDay),
             "The wait before a URL is fetched again. It doubles each time."),
      KEY(fetch.connect_timeout, duration(1ms, kDay),
          "The longest time for connecting, including TLS."),
      KEY(fetch.first_byte_timeout, duration(1ms, kDay),
          "The longest time until a server begins its answer."),
      KEY(fetch.timeout, duration(1ms, kDay),
          "The longest time for a request, from connecting to the last byte."),
      KEY(fetch.min_speed, size(0, 1ull << 40),
          "Responses with fewer bytes per second, averaged over min_speed_time, are aborted. 0 "
          "disables this."),
      KEY(fetch.min_speed_time, duration(1ms, kDay), "The time over which min_speed is measured."),
      KEY(fetch.limit_rate, size(0, 1ull << 40),
          "How many bytes per second are received, over all transfers together, such as \"2MiB\". "
          "0 "
          "disables this limit."),
  };
}

Rows fetch_limits() {
  return {
      KEY(fetch.max_body, size(1, 4ull << 30),
          "Pages with more bytes after decompression are truncated."),
      KEY(fetch.max_download, size(1, 4ull << 30),
          "The same before decompression. If only max_body is set, this is at least max_body."),
      KEY(fetch.max_header, size(1024, 16u << 20),
          "A response with more bytes of headers is a failed fetch."),
      KEY(fetch.max_memory, size(64u << 10, kPebibyte),
          "The memory for all bodies that are being received or waiting to be written, for cookies "
          "and for the limits of hosts. The crawl slows down when it is used up."),
      KEY(fetch.content_types, media_types(),
          "Which content types are fetched; of other pages only the headers are read. If unset, "
          "all are.",
          R"(["text/html", "application/pdf"])"),
  };
}

Rows fetch_network() {
  return {
      KEY(fetch.http2, boolean(), "Use HTTP/2 with servers that offer it."),
      KEY(fetch.ip_version,
          one_of<IpVersion>(
              {{"any", IpVersion::kAny}, {"ipv4", IpVersion::kV4}, {"ipv6", IpVersion::kV6}}),
          "Which addresses of a host are used: \"any\", \"ipv4\" or \"ipv6\"."),
      KEY(fetch.dns_servers, dns_servers(),
          "The DNS servers to use. If unset: those of /etc/resolv.conf, which is read again when "
          "it changes.",
          R"(["192.0.2.53"])"),
      KEY(fetch.dns_timeout, duration(1ms, 1h),
          "The longest time for looking up a host's address."),
      KEY(fetch.dns_negative_age, duration(0ms, kDay),
          "How long a host that does not exist is not looked up again; one second at first, "
          "growing to this."),
      KEY(fetch.allow_private_addresses, boolean(),
          "Also fetch from loopback, private, link-local and metadata addresses. A link from "
          "outside then reaches your own network: for tests and intranets only. Where a proxy "
          "resolves the names, Trawl cannot check the addresses; the proxy must refuse them."),
      KEY(fetch.verify_tls, boolean(), "Refuse servers whose certificate is not valid."),
      KEY(fetch.ca_file, path(),
          "A file of certificates (PEM) to trust. If unset: those of the system.",
          R"("/etc/ssl/certs/ca-certificates.crt")"),
      KEY(fetch.proxy, proxy(), "The proxy for all requests. If unset, there is none.",
          R"("socks5h://127.0.0.1:1080")"),
      KEY(fetch.headers, headers(),
          "Headers that are sent with every request, in place of the crawler's own header of that "
          "name.",
          R"(["Accept-Language: en"])"),
      KEY(fetch.cookies, boolean(),
          "Keep the cookies that a host sets, also for later runs, and send them back to its "
          "site."),
      KEY(fetch.cookies_file, path(),
          "A cookies.txt (Netscape format), for example of a session in a browser: its cookies are "
          "sent to their sites. Implies cookies = true; a host with cookies = false gets none.",
          R"("cookies.txt")"),
      KEY(fetch.secret_headers, header_names(),
          "Names of headers that are left out of WARC files, in requests and responses, and of "
          "pages.jsonl. Authorization always is, and Cookie and Set-Cookie where the cookies are "
          "from cookies_file or a header in host.",
          R"(["X-Api-Key"])"),
      KEY(fetch.referer, boolean(),
          "Send the page on which a link was found as Referer; to another origin, only the origin "
          "of that page."),
      KEY_OF(
          "fetch.host", fetch.hosts, host_requests(),
          "Other settings for a host, or for \".example.com\" and its subdomains: any of headers, "
          "basic_auth, bearer_token, cookies, referer, proxy. Secrets go to that host alone, on "
          "all its ports, and unencrypted where the URL is http.",
          R"([{ host = "members.example.com", basic_auth = "user:password", cookies = true }])"),
      KEY_OF(
          "fetch.login", fetch.logins, logins(),
          "Forms that log in: the fields are sent to the URL by POST before its host (or `host`) "
          "is "
          "fetched, and again after a 401 or a redirect to `page` (if unset: the URL), at most "
          "once "
          "a minute. Implies cookies for the host. May be written as tables [[login]].",
          R"([{ url = "https://example.com/login", fields = { user = "me", password = "secret" } }])"),
  };
}

Rows links() {
  return {
      KEY(links.kinds, link_kinds(),
          "Which links of a page are followed: navigation (a, area), document (frames, objects), "
          "related (rel=next, canonical and the like), refresh; also resource (images, scripts, "
          "style sheets), form, citation. See docs/links.md."),
      KEY(links.engine,
          one_of<LinkEngine>(
              {{"scanner", LinkEngine::kScanner, "fast; asks Gumbo only where it must"},
               {"gumbo", LinkEngine::kGumbo, "a whole HTML parser, about forty times slower"}}),
          "What reads the pages."),
      KEY(links.guess, guess_sources(),
          "Where quoted strings that look like URLs are followed as guesses: \"scripts\", "
          "\"json\". "
          "The links of a guess are followed only if it is an HTML page with status 200.",
          R"(["scripts", "json"])"),
      KEY(links.requisites, boolean(),
          "Also fetch what a browser loads to show a page in scope, wherever it is: images, style "
          "sheets, scripts, fonts, media, icons, frames, and what these load. Their links are not "
          "followed."),
      KEY(links.lazy_images, boolean(),
          "With requisites: also what scripts load when it is scrolled into view, by data-src, "
          "data-srcset and the like."),
      KEY(links.respect_nofollow, boolean(),
          "Do not follow links for which rel=nofollow, a robots meta tag or an X-Robots-Tag header "
          "forbids it."),
      KEY(links.sitemaps, boolean(), "Follow the sitemaps that a host's robots.txt names."),
      KEY(links.guess_sitemaps, boolean(),
          "Also ask each site for /sitemap.xml if its robots.txt names no sitemap."),
      KEY(links.feeds, boolean(), "Follow the entries of RSS and Atom feeds that are fetched."),
      KEY(links.from_duplicates, boolean(),
          "Follow the links of a page whose body was seen before at another URL."),
      KEY(links.canonical,
          one_of<CanonicalLinks>(
              {{"record", CanonicalLinks::kRecord, "only written to pages.jsonl"},
               {"key", CanonicalLinks::kKey,
                "a page that names another one in scope leads only to that page"}}),
          "What `<link rel=canonical>` is used for."),
      KEY(links.rules, response_rules(),
          "The first rule that matches the content type and the status of a response decides "
          "whether it is read for links.",
          R"([{ include = "text/html", status = 404 }, { exclude = "application/xhtml+xml" }])"),
      KEY(links.content_types, media_types(),
          "Which content types are read for links, of responses with status 2xx for which no rule "
          "decides. If unset: HTML.",
          R"(["text/html", "application/xhtml+xml"])"),
  };
}

Rows url() {
  return {
      KEY_OF("url.rules", url.text.rules, url_names("rules"),
             "Which rules decide that two URLs are the same page; what is fetched is the URL as it "
             "was found. Each rule may be wrong for some site: `trawl normalize --list-rules` and "
             "docs/canonical-keys.md explain them. Also \"all\" or \"none\". If unset: none.",
             R"(["drop_parameters", "drop_session_ids", "sort_query"])"),
      KEY_OF("url.parameter_names", url.text.parameter_names, url_names("parameter_names"),
             "The names that the rule drop_parameters drops. With a + before the first, they are "
             "added to the default names.",
             R"(["+ref"])"),
      KEY_OF("url.session_id_names", url.text.session_id_names, url_names("session_id_names"),
             "The same for the rule drop_session_ids.", R"(["+token"])"),
      KEY_OF("url.index_names", url.text.index_names, url_names("index_names"),
             "The same for the rule drop_index.", R"(["+home.html"])"),
      KEY_OF("url.host", url.hosts, url_hosts(),
             "Other rules for a host, or for \".example.com\" and its subdomains.",
             R"([{ host = ".example.com", rules = ["+merge_slashes"] }])"),
  };
}

Rows filter_and_frontier() {
  return {
      KEY(filter.expected_urls, integer("URLs", 1, 1'000'000'000'000),
          "How many URLs the filter of seen URLs has room for at first. It grows if there are "
          "more."),
      KEY(filter.false_positive_rate, probability(),
          "The share of new URLs that are mistaken for seen and not fetched, however many URLs "
          "there are; pages that only they link to are missed too. 1e-6 takes 40 bits of memory "
          "per URL, 1e-4 takes 23."),
      KEY(filter.max_memory, size(1, kPebibyte),
          "The memory that the filter may grow to. Beyond that, false_positive_rate rises, and the "
          "summary says so. If unset: half of the machine's memory.",
          R"("8GiB")"),
      KEY(filter.mode,
          one_of<FilterMode>(
              {{"bloom", FilterMode::kBloom, "the filter alone, with its false_positive_rate"},
               {"exact", FilterMode::kExact,
                "what the filter takes for seen is looked up in the ledger: no URL is lost, but "
                "slower; not for a crawl that began without a ledger"}}),
          "What decides whether a URL was seen."),
      KEY(frontier.durability,
          one_of<Durability>(
              {{"async", Durability::kAsync, "what was committed up to a moment before"},
               {"sync", Durability::kSync, "all that was committed; slower"}}),
          "What survives a loss of power. A killed process loses nothing either way."),
      KEY(frontier.max_memory, size(kMinFrontierMemory, kPebibyte),
          "The memory for queues, caches and buffers of the store. The filter and the pages in "
          "progress need theirs in addition."),
      KEY(frontier.ledger, boolean(),
          "Keep a record on disk of each URL ever queued, with status and time of its last fetch. "
          "Always on with filter.mode = \"exact\". It cannot be changed after the crawl began."),
      KEY(frontier.max_set_aside, integer("URLs", 0),
          "How many URLs that failed, or that a rule passed over, are kept for a later run: about "
          "150 bytes each, on disk. Links that were never queued take at most half of that."),
      KEY(checkpoint.max_replay, duration(1ms, 7 * kDay),
          "A resumed crawl replays what was queued since the last checkpoint, about 3.5 million "
          "URLs per second. A checkpoint is taken when that would take longer than this; at the "
          "end of a run, too."),
      KEY(checkpoint.interval, duration(1ms, 7 * kDay),
          "The longest time between two checkpoints. If unset, only `max_replay` decides. None is "
          "taken if no URL was queued since the last.",
          R"("1h")"),
      KEY(checkpoint.admissions, integer("URLs", 0),
          "A checkpoint is also taken when this many URLs were queued since the last. 0 disables "
          "this."),
      KEY(checkpoint.max_rate, size(0, kPebibyte),
          "How many bytes per second a checkpoint may write, such as \"50MiB\", to leave room on a "
          "slow disk. 0 disables this limit."),
      KEY(checkpoint.keep, integer("checkpoints", 1, 100),
          "How many checkpoints are kept. An older one replaces a damaged one."),
  };
}

Rows cluster() {
  return {
      KEY(cluster.redis, redis_nodes(),
          "The Redis Cluster that holds the frontier of a crawl by many crawlers: some of its "
          "nodes, "
          "or one server without cluster mode. \"rediss://\" before an address, or tls = true, "
          "stands for TLS. If unset, the frontier is in the state directory, for this crawler "
          "alone.",
          R"(["10.0.0.1:6379", "10.0.0.2:6379"])"),
      KEY(cluster.name, crawl_name(),
          "The name of the crawl, the same for all its crawlers; several crawls may share a Redis. "
          "Required with `redis`.",
          R"("crawl1")"),
      KEY(cluster.buckets, integer("buckets", 16, 4096),
          "Into how many parts the frontier is divided; one crawler owns a part at a time. "
          "It cannot be changed after the crawl began."),
      KEY(cluster.member, short_text(kMaxMemberBytes),
          "The name of this crawler. Two that run at the same time must have different names. If "
          "unset: the name "
          "of the machine and the state directory.",
          R"("host-a")"),
      KEY(cluster.takeover_after, duration(1s, 10min),
          "How long a crawler must be silent until others take over its buckets. Longer than "
          "twice the cluster-node-timeout of Redis."),
      KEY(cluster.durability,
          one_of<ClusterDurability>(
              {{"async", ClusterDurability::kAsync,
                "a node; if one fails together with a crawler, URLs found last may be lost"},
               {"replicated", ClusterDurability::kReplicated, "and a replica of it, if it has any"},
               {"synced", ClusterDurability::kSynced, "and their disks; slower"}}),
          "What must have a change before it counts."),
      KEY(cluster.username, short_text(255),
          "The user to log in to Redis as. If unset: \"default\".", R"("trawl")"),
      KEY(cluster.password_file, path(),
          "A file with the password of that user in its one line. The password is not shown "
          "anywhere. If unset: no login.",
          R"("redis-password")"),
      KEY(cluster.tls, boolean(), "Use TLS to all nodes, and check their certificates."),
      KEY(cluster.shared_ip_delay, boolean(),
          "Keep politeness.ip_delay over all crawlers, at the cost of one question to Redis for "
          "each request, and not in each crawler for itself."),
      KEY(cluster.ca_file, path(),
          "A file of certificates (PEM) to trust, with TLS. If unset: those of the system.",
          R"("/etc/ssl/certs/redis-ca.pem")"),
  };
}

Rows recrawl() {
  return {
      KEY(recrawl.interval, interval(),
          "How long after its first fetch a page is fetched again, or \"never\"."),
      KEY(recrawl.rules, recrawl_rules(),
          "The first pattern that matches a page gives its interval instead.",
          R"([{ match = "*/news/*", interval = "2h" }, { match = "*/archive/*", interval = "never" }])"),
      KEY(recrawl.failed, interval(),
          "The interval after a fetch that did not return a page: a failure, a missing page, a "
          "redirect."),
      KEY(recrawl.by_sitemap, boolean(),
          "Fetch a page that a sitemap lists with a lastmod again when the sitemap, which is "
          "fetched "
          "again by its own interval, has a later lastmod, and not after an interval."),
      KEY(recrawl.adaptive, boolean(),
          "Halve a page's interval each time it has changed, and double it each time it has not."),
      KEY(recrawl.min_interval, duration(1ms, kMaxDelay),
          "The shortest interval after halving. If unset, it is not above the intervals given."),
      KEY(recrawl.max_interval, duration(1ms, kMaxDelay),
          "The longest interval after doubling. If unset, it is not below the intervals given."),
      KEY(recrawl.wait, boolean(),
          "Wait for pages that are to be fetched again later, instead of ending when all others "
          "are done."),
  };
}

Rows output() {
  return {
      KEY(output.directory, path(),
          "Where all output goes. If unset: `output` in the state directory.", R"("output")"),
      KEY(output.pages, boolean(), "Write pages.jsonl: a line for each finished fetch."),
      KEY(output.links, boolean(), "Write links.jsonl: a line for each link found."),
      KEY(output.skipped, boolean(),
          "Write skipped.jsonl: a line for each URL not followed, with the reason."),
      KEY(output.files, boolean(),
          "Save each page as a file: files/HOST/FOLDER/FILE in the output, named as wget -r does."),
      KEY(output.text, boolean(),
          "Add the readable text of HTML pages to pages.jsonl, up to 1 MiB each."),
      KEY(output.digest,
          one_of<DigestAlgorithm>(
              {{"auto", DigestAlgorithm::kAuto, "sha1 with WARC files, xxh128 without"},
               {"sha1", DigestAlgorithm::kSha1, "the digest that WARC files use"},
               {"xxh128", DigestAlgorithm::kXxh128,
                "ten times faster, but an attacker can make two bodies with the same digest"}}),
          "The digest by which bodies are compared."),
      KEY(output.warc, boolean(), "Keep all that was sent and received in WARC files."),
      KEY(output.cdxj, boolean(), "Write an index (CDXJ) next to each WARC file."),
      KEY(output.warc_prefix, warc_prefix(), "What the names of WARC files begin with."),
      KEY(output.warc_size, size(1024, kPebibyte),
          "A WARC file with more bytes is closed, and the next one begun."),
      KEY(output.warc_time, duration(0ms, kMaxDelay),
          "The same for a WARC file that is older. \"0s\" disables this."),
      KEY(output.known, file_patterns(),
          "CDXJ indexes of earlier crawls. A body that one of them has is not written again: the "
          "WARC file gets a revisit record that names the earlier record. * and ? may stand in the "
          "file's name.",
          R"(["old/*.cdxj"])"),
      KEY(output.warc_metadata, boolean(),
          "Write a metadata record for each page: how it was found, and its links."),
      KEY(output.warc_operator, text(0, 1024),
          "Who crawls; written to the beginning of each WARC file."),
      KEY(output.warc_description, text(0, 1024),
          "What the crawl is for; written to the beginning of each WARC file."),
      KEY(output.rules, response_rules(),
          "The first rule that matches the content type and the status of a response decides "
          "whether it is kept in WARC files and as a file (only those with status 2xx are files).",
          R"([{ exclude = "*/*", status = [404, "5xx"] }, { exclude = "video/*" }])"),
      KEY(output.content_types, media_types(),
          "Which content types are kept in WARC files and as files, if no rule decides. If unset: "
          "all.",
          R"(["text/html", "image/*"])"),
      KEY(output.respect_noarchive, boolean(),
          "Do not keep pages, in WARC files, as files or as text, whose robots meta tag or "
          "X-Robots-Tag header has noarchive. Their lines in pages.jsonl stay."),
      KEY(output.respect_noindex, boolean(), "The same for noindex."),
      KEY(output.min_free, size(0, kPebibyte),
          "With less space free on the disk of the state directory or of the output, the crawl "
          "pauses; it goes on when there is space again, and ends with exit code 3 if there is "
          "none "
          "for min_free_wait. Nothing is lost. 0 disables this."),
      KEY(output.min_free_wait, duration(0ms, kMaxDelay),
          "How long a crawl that paused for min_free waits for space."),
  };
}

Rows status() {
  return {
      KEY(status.listen, listen_address(),
          "Where the status page, the API and the metrics are served: an IP address and a port; "
          "port "
          "0 picks a free one. If unset: nowhere.",
          R"("127.0.0.1:8088")"),
      KEY(status.token, boolean(),
          "Requests that only read need the token in `status-token` of the state directory, too, "
          "as "
          "those that change something always do. Required for an address that other machines can "
          "reach."),
  };
}

Rows log() {
  return {
      KEY(log.level, log_level(),
          "How much is logged: messages of this level and above (trace, debug, info, warn, error), "
          "or \"off\"."),
      KEY(log.levels, log_levels(),
          "Other levels for single parts of the crawler: crawl (begin, progress, signals), "
          "frontier "
          "(queues, parked hosts, checkpoints), http (requests; with \"debug\" a line for each), "
          "robots, links (with \"debug\" a line for each link skipped), output, status. Also "
          "written as [\"http=debug\"].",
          R"({ http = "debug", links = "warn" })"),
      KEY(log.format,
          one_of<LogFormat>({{"text", LogFormat::kText, "for people"},
                             {"json", LogFormat::kJson,
                              "a JSON object a line: time, level, room, message and, where the "
                              "message has one, url"}}),
          "How messages are written."),
      KEY(log.file, path(), "A file to append the log to. If unset: standard error.",
          R"("trawl.log")"),
      KEY(log.max_size, size(0, kPebibyte),
          "When log.file has this size, it is renamed (trawl.log to trawl.1.log, that to "
          "trawl.2.log), and a new one begun. 0 disables this: for logrotate, which sends SIGHUP."),
      KEY(log.keep, integer("files", 1, 1000),
          "How many renamed log files are kept; the oldest is deleted."),
  };
}

}  // namespace rows

std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys;
  for (auto* make :
       {rows::crawl, rows::scope_rules_and_type, rows::scope_limits, rows::politeness_delays,
        rows::politeness_robots, rows::politeness_backoff, rows::fetch_requests, rows::fetch_limits,
        rows::fetch_network, rows::links, rows::url, rows::filter_and_frontier, rows::cluster,
        rows::recrawl, rows::output, rows::status, rows::log})
    std::ranges::move(make(), std::back_inserter(keys));
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

#undef KEY
#undef KEY_OF
