#include "crawler/cli/frontier_redis.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/cluster_config.h"

namespace trawl::cli {

namespace {

int wrong_url(const std::string& url, std::string_view why) {
  // Without a password that it may have.
  const std::string_view shown =
      url.find('@') == std::string::npos ? std::string_view(url) : "the URL of Redis";
  return usage_error(fmt::format("{}: {}", shown, why));
}

// All nodes, and the name of the crawl.
tl::expected<RedisPlace, int> place_of(const std::vector<std::string>& urls) {
  RedisPlace all;
  for (const std::string& url : urls) {
    auto place = parse_redis_place(url);
    if (!place) return tl::unexpected(wrong_url(url, place.error().message));
    if (place->tls == RedisPlace::Tls::kOpen) place->tls = RedisPlace::Tls::kNo;
    if (!all.nodes.empty() && all.tls != place->tls)
      return tl::unexpected(wrong_url(url, "TLS is for all nodes or for none"));
    all.tls = place->tls;
    if (!all.crawl.empty() && !place->crawl.empty() && all.crawl != place->crawl)
      return tl::unexpected(wrong_url(url, fmt::format("another crawl than {}", all.crawl)));
    if (all.crawl.empty()) all.crawl = place->crawl;
    for (RedisNode& node : place->nodes)
      all.nodes.push_back(std::move(node));
  }
  if (all.crawl.empty()) {
    return tl::unexpected(
        wrong_url(urls.front(),
                  "the name of the crawl is missing, cluster.name of its crawlers: "
                  "redis://HOST:PORT/NAME"));
  }
  return all;
}

}  // namespace

tl::expected<std::unique_ptr<SharedCrawl>, int> open_shared_crawl(
    const std::vector<std::string>& urls, const RedisLogin& login) {
  auto place = place_of(urls);
  if (!place) return tl::unexpected(place.error());
  RedisOptions options{.username = login.username,
                       .tls = place->tls == RedisPlace::Tls::kYes,
                       .ca_file = login.ca_file};
  if (!login.username.empty() && login.password_file.empty())
    return tl::unexpected(usage_error("--username needs --password-file"));
  if (!login.ca_file.empty() && !options.tls)
    return tl::unexpected(usage_error("--ca-file has no effect without rediss://"));
  auto password = read_redis_password(login.password_file);
  if (!password) return tl::unexpected(report(password.error()));
  options.password = *std::move(password);
  for (RedisNode& node : place->nodes)
    options.addresses.push_back({.host = std::move(node.host), .port = node.port});
  auto crawl = SharedCrawl::open(std::move(options), place->crawl);
  if (!crawl) {
    const int code = report(crawl.error());
    if (crawl.error().code == ErrorCode::kPermission) {
      say(stderr,
          "trawl: this command takes --username and --password-file for cluster.username and "
          "cluster.password_file\n");
    }
    return tl::unexpected(code);
  }
  for (const std::string& warning : (*crawl)->warnings())
    say(stderr, "trawl: warning: {}\n", warning);
  return *std::move(crawl);
}

Result<void> outcome_of(const std::vector<BucketStore::Written>& results) {
  for (const BucketStore::Written& written : results) {
    if (written.code == BucketStore::Written::Code::kDone) continue;
    if (written.error) return tl::unexpected(*written.error);
    return error(ErrorCode::kIo, "Redis has not taken a message");
  }
  return {};
}

}  // namespace trawl::cli
