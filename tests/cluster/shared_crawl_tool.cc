// A crawl in Redis for scripts: writes what owners of buckets would write, and reads what they
// would read, with the real formats.
//
//     shared_crawl_tool PORT NAME write [release]         lines of `trawl frontier dump`, or
//                                                         {"parked": HOST}, from standard input
//     shared_crawl_tool PORT NAME drain                   prints and removes messages and commands
//     shared_crawl_tool PORT NAME beat MEMBER SESSION N   as a member with N buckets, until
//     standard
//                                                         input ends
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "base/rfc3339.h"
#include "base/wall_time.h"
#include "frontier/shared/owner_command.h"
#include "frontier/shared/url_messages.h"
#include "tests/cluster/crawl_in_redis.h"

namespace trawl::test {
namespace {

using nlohmann::json;

void write_line(CrawlInRedis& crawl, const json& line) {
  if (line.contains("parked")) {
    crawl.set_host({.name = line["parked"], .failures = 9, .given_up = true});
    return;
  }
  const std::string url = line["url"];
  const std::string parent = line["parent"].is_null() ? "" : line["parent"].get<std::string>();
  const UrlRecord record{.url = url,
                         .parent = parent,
                         .depth = line["depth"],
                         .redirects = line["redirects"],
                         .attempts = line["attempts"]};
  const std::string state = line["state"], reason = line.value("reason", "");
  const std::int32_t priority = line["priority"];
  if (state == "queued") {
    crawl.queue(record, priority);
  } else if (state == "deferred") {
    crawl.defer(record,
                to_milliseconds(parse_rfc3339(line["not_before"].get<std::string>()).value()),
                priority);
  } else {
    crawl.set_aside(
        record, {.state = state == "held" ? SetAsideState::kHeld : SetAsideState::kFailed,
                 .reason = reason,
                 .status = line.value("status", 0),
                 .since = to_milliseconds(parse_rfc3339(line["since"].get<std::string>()).value()),
                 .priority = priority,
                 .url_record = {}});
  }
}

json request_json(const UrlRequest& request, BucketId expected) {
  json line{{"url", request.url},
            {"priority", request.priority},
            {"depth", request.depth},
            {"redirects", request.redirects},
            {"seen_only", request.seen_only},
            {"right_bucket", expected}};
  line["parent"] = request.parent.empty() ? json() : json(request.parent);
  if (request.not_before) line["not_before"] = to_rfc3339(*request.not_before);
  return line;
}

json command_json(const OwnerCommand& command) {
  if (command.kind == OwnerCommand::Kind::kSetHost) {
    return {{"command", "set_host"},
            {"host", command.host},
            {"unblocks", command.settings.blocked_until == HostSettings::kNotBlocked}};
  }
  json line{{"command", command.kind == OwnerCommand::Kind::kRetry ? "retry" : "drop_host"},
            {"host", command.which.host},
            {"reason", command.which.reason},
            {"statuses", {command.which.first_status, command.which.last_status}}};
  line["state"] = !command.which.state                             ? json()
                  : *command.which.state == SetAsideState::kFailed ? json("failed")
                                                                   : json("held");
  return line;
}

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

void print(json line, BucketId bucket) {
  line["bucket"] = bucket;
  std::cout << line.dump() << '\n';
}

void drain(CrawlInRedis& crawl, RedisClient& client, BucketId bucket) {
  const auto remove = [&](const std::string& key) {
    RedisCommand command("DEL", key);
    client.run_one(command.arg(key), {});
  };
  const std::vector<BucketId> one = {bucket};
  for (const InboxMessage& message :
       value_of(crawl.bucket_store().read_inboxes(one, 1'000'000)[0])) {
    const UrlMessage links = decode_requests(message.body).value();
    for (std::size_t i = 0; i < links.requests.size(); ++i) {
      const UrlRequest& request = links.requests[i];
      const auto given = links.given.empty() ? std::nullopt : links.given[i].fingerprint;
      const Fingerprint url = given ? *given : crawl.identity().of_href(request.url).value();
      print(request_json(request, crawl.identity().bucket_of(url.high)), bucket);
    }
  }
  remove(crawl.keys().inbox(bucket));
  for (const InboxMessage& message : value_of(crawl.bucket_store().read_commands(one)[0]))
    print(command_json(decode_owner_command(message.body).value()), bucket);
  remove(crawl.keys().commands(bucket));
}

int run(const std::vector<std::string>& words) {
  const auto port = static_cast<std::uint16_t>(std::stoi(words.at(0)));
  const auto client =
      value_of(RedisClient::connect({.addresses = {{.host = "127.0.0.1", .port = port}}}));
  CrawlInRedis crawl(*client, words.at(1));
  const std::string& verb = words.at(2);
  if (verb == "write") {
    for (std::string line; std::getline(std::cin, line);)
      write_line(crawl, json::parse(line));
    crawl.write(words.size() > 3);
  } else if (verb == "drain") {
    for (BucketId bucket = 0; bucket < 64; ++bucket)
      drain(crawl, *client, bucket);
  } else if (verb == "beat") {
    for (std::uint64_t beat = 1;; ++beat) {
      crawl.beat(words.at(3), words.at(4), beat, std::stoul(words.at(5)));
      pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      if (::poll(&input, 1, 100) > 0) break;
    }
  } else {
    throw std::runtime_error("no such verb: " + verb);
  }
  return 0;
}

}  // namespace
}  // namespace trawl::test

int main(int argc, char** argv) {
  try {
    return trawl::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shared_crawl_tool: %s\n", error.what());
    return 1;
  }
}
