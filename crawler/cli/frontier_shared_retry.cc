// trawl frontier retry and revive, of a crawl in Redis: commands for the owners of the buckets.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_redis.h"
#include "crawler/cli/say.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/owner_command.h"
#include "frontier/shared/shared_dump.h"
#include "frontier/store/set_aside_record.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kHostsListed = 10;
constexpr std::size_t kCommandsAtOnce = 500;

// Commands that wait to be sent.
class OwnerCommands {
 public:
  void add(BucketId bucket, const OwnerCommand& command) {
    commands_.push_back(
        {.bucket = bucket, .message = {.id = ids_.next(), .body = encode_owner_command(command)}});
  }
  Result<void> send(SharedCrawl& crawl) {
    for (std::size_t i = 0; i < commands_.size(); i += kCommandsAtOnce) {
      const auto part =
          std::span(commands_).subspan(i).first(std::min(kCommandsAtOnce, commands_.size() - i));
      if (auto sent = outcome_of(crawl.bucket_store().push_commands(part)); !sent) return sent;
    }
    return {};
  }

 private:
  MessageIds ids_;
  std::vector<BucketStore::Command> commands_;
};

// One for each range of statuses: a URL must match one of them.
std::vector<RetryWhich> which_of_shared(const FrontierRetryArguments& arguments) {
  const RetryWhich any{
      .state = arguments.state, .host = arguments.host, .reason = arguments.reason};
  if (arguments.statuses.empty()) return {any};
  std::vector<RetryWhich> all;
  for (const StatusRange& range : arguments.statuses) {
    all.push_back(any);
    all.back().first_status = range.first;
    all.back().last_status = range.last;
  }
  return all;
}

struct SetAsideCounts {
  std::uint64_t held = 0;
  std::uint64_t failed = 0;
  std::uint64_t matching = 0;
};

// Counts those of a bucket, and adds the commands for them.
Result<void> retry_bucket(SharedCrawl& crawl, BucketId bucket, const std::vector<RetryWhich>& which,
                          SetAsideCounts& counts, OwnerCommands& commands) {
  std::vector<bool> matches(which.size());
  std::set<std::uint64_t> visited;
  auto read = crawl.bucket_store().visit_set_aside(
      bucket, [&](std::uint64_t fingerprint, std::string_view value) {
        if (!visited.insert(fingerprint).second) return;
        const auto record = decode_set_aside(value);
        const auto url = record ? set_aside_url(*record) : std::nullopt;
        if (!url) return;
        ++(url->state == SetAsideState::kHeld ? counts.held : counts.failed);
        bool matching = false;
        for (std::size_t i = 0; i < which.size(); ++i) {
          if (!which[i].matches(*url)) continue;
          matches[i] = true;
          matching = true;
        }
        counts.matching += matching ? 1 : 0;
      });
  if (!read) return read;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (matches[i]) commands.add(bucket, {.kind = OwnerCommand::Kind::kRetry, .which = which[i]});
  return {};
}

void say_who_acts() {
  say("the crawlers that own them do so at once; without a crawler, the next that is started\n");
}

struct Revival {
  std::vector<std::string> revived;
  std::vector<std::string> not_parked;
  std::vector<std::string> unknown;
};

// Those of `hosts`, or all that are parked.
Result<Revival> revive_in(SharedCrawl& crawl, const std::vector<std::string>& hosts,
                          OwnerCommands& commands) {
  Revival revival;
  const auto revive = [&](BucketId bucket, const std::string& name) {
    revival.revived.push_back(name);
    commands.add(bucket, {.kind = OwnerCommand::Kind::kSetHost,
                          .host = name,
                          .settings = {.blocked_until = HostSettings::kNotBlocked}});
  };
  if (hosts.empty()) {
    for (const BucketId bucket : crawl.buckets()) {
      auto read = visit_hosts_once(crawl, bucket, [&](HostId, const BucketHost& host) {
        if (host.record.given_up) revive(bucket, host.record.name);
      });
      if (!read) return tl::unexpected(read.error());
    }
    return revival;
  }
  std::map<BucketId, std::map<HostId, std::string>> wanted;
  for (const std::string& name : hosts) {
    const HostId id = crawl.identity().host(name);
    wanted[crawl.identity().bucket_of(id)][id] = name;
  }
  for (auto& of_bucket : wanted) {
    const BucketId bucket = of_bucket.first;
    auto& names = of_bucket.second;
    auto read = visit_hosts_once(crawl, bucket, [&](HostId id, const BucketHost& host) {
      const auto name = names.find(id);
      if (name == names.end()) return;
      if (host.record.given_up) {
        revive(bucket, name->second);
      } else {
        revival.not_parked.push_back(name->second);
      }
      names.erase(name);
    });
    if (!read) return tl::unexpected(read.error());
    for (const auto& [id, name] : names)
      revival.unknown.push_back(name);
  }
  return revival;
}

}  // namespace

int run_shared_retry(const FrontierRetryArguments& arguments) {
  const auto crawl = open_shared_crawl({arguments.state_dir}, arguments.redis);
  if (!crawl) return crawl.error();
  const auto which = which_of_shared(arguments);
  auto buckets = (*crawl)->buckets();
  const UrlIdentity& identity = (*crawl)->identity();
  if (!arguments.host.empty()) buckets = {identity.bucket_of(identity.host(arguments.host))};
  SetAsideCounts counts;
  OwnerCommands commands;
  for (const BucketId bucket : buckets) {
    if (auto read = retry_bucket(**crawl, bucket, which, counts, commands); !read)
      return report(read.error());
  }
  if (auto sent = commands.send(**crawl); !sent) return report(sent.error());
  const std::string aside = fmt::format("{} failed and {} held", counts.failed, counts.held);
  if (counts.matching == 0) {
    say("nothing to retry: none of the URLs set aside matches ({}{})\n", aside,
        arguments.host.empty() ? "" : " in the bucket of the host");
    return kDone;
  }
  say("{} URL{} to be queued again, of {}\n", counts.matching, counts.matching == 1 ? "" : "s",
      aside);
  say_who_acts();
  return kDone;
}

int run_shared_revive(const FrontierReviveArguments& arguments) {
  const auto crawl = open_shared_crawl({arguments.state_dir}, arguments.redis);
  if (!crawl) return crawl.error();
  OwnerCommands commands;
  const auto revival = revive_in(**crawl, arguments.hosts, commands);
  if (!revival) return report(revival.error());
  if (auto sent = commands.send(**crawl); !sent) return report(sent.error());
  for (const std::string& host : revival->not_parked)
    say(stderr, "trawl: {} is not parked\n", host);
  for (const std::string& host : revival->unknown)
    say(stderr, "trawl: {} has no waiting URLs in this crawl\n", host);
  const std::vector<std::string>& revived = revival->revived;
  if (revived.empty()) {
    if (arguments.hosts.empty())
      say("nothing to revive: {} has no parked hosts\n", arguments.state_dir);
    return arguments.hosts.empty() ? kDone : kFailed;
  }
  say("{} host{} to be revived\n", revived.size(), revived.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(revived.size(), kHostsListed); ++i)
    say("  {}\n", revived[i]);
  if (revived.size() > kHostsListed) say("  and {} more\n", revived.size() - kHostsListed);
  say_who_acts();
  return kDone;
}

}  // namespace trawl::cli
