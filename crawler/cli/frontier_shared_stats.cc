// trawl frontier stats, of a crawl in Redis.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/wall_time.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_counts.h"
#include "crawler/cli/frontier_redis.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/config/config_values.h"
#include "frontier/schedule/host_record_info.h"
#include "frontier/shared/shared_dump.h"
#include "frontier/store/longest_queues.h"
#include "frontier/store/store_records.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kQueuesAtOnce = 10'000;

struct SharedSummary {
  FrontierStats stats;
  std::vector<HostInfo> longest_queues;
  std::uint64_t hosts_known = 0;  // with URLs or settings
  std::uint64_t owned = 0;        // buckets
  std::uint64_t messages = 0;
  std::uint64_t inboxes = 0;  // with messages
  std::uint64_t commands = 0;
};

// Counts the hosts of all buckets, and keeps those with the longest queues.
class LongestSharedQueues {
 public:
  LongestSharedQueues(SharedCrawl& crawl, std::size_t kept, FrontierStats& stats)
      : crawl_(crawl), longest_(kept), stats_(stats) {}

  Result<void> add(BucketId bucket) {
    std::vector<std::pair<HostId, BucketHost>> hosts;
    auto read = visit_hosts_once(crawl_, bucket, [&](HostId id, BucketHost host) {
      stats_.hosts_parked += host.record.given_up ? 1 : 0;
      stats_.hosts_blocked += !host.record.given_up && host.record.blocked_until > now_ ? 1 : 0;
      stats_.hosts += host.priorities.empty() ? 0 : 1;
      if (!host.priorities.empty()) hosts.emplace_back(id, std::move(host));
    });
    if (!read) return read;
    std::vector<BucketStore::QueueName> queues;
    std::vector<std::size_t> host_of;  // of each queue
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      for (const std::int32_t priority : hosts[i].second.priorities) {
        queues.push_back({.host = hosts[i].first, .priority = priority});
        host_of.push_back(i);
      }
    }
    std::vector<std::uint64_t> urls(hosts.size());
    for (std::size_t from = 0; from < queues.size(); from += kQueuesAtOnce) {
      const auto part =
          std::span(queues).subspan(from).first(std::min(kQueuesAtOnce, queues.size() - from));
      const auto sizes = crawl_.bucket_store().queue_sizes(bucket, part);
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (!sizes[i]) return tl::unexpected(sizes[i].error());
        urls[host_of[from + i]] += *sizes[i];
      }
    }
    for (std::size_t i = 0; i < hosts.size(); ++i)
      longest_.add({urls[i], hosts[i].first, {bucket, std::move(hosts[i].second)}});
    return {};
  }

  Result<std::vector<HostInfo>> finish() {
    std::vector<HostInfo> infos;
    for (const Longest::Queue& queue : longest_.take()) {
      HostInfo info = host_info(queue.what.host.record, now_);
      if (info.host.empty()) {
        auto name = name_of(queue);
        if (!name) return tl::unexpected(name.error());
        info.host = *std::move(name);
      }
      info.queued = queue.urls;
      infos.push_back(std::move(info));
    }
    return infos;
  }

 private:
  struct InBucket {
    BucketId bucket;
    BucketHost host;
  };
  using Longest = LongestQueues<InBucket>;

  // A host without settings has no name in its record; its URLs have it.
  Result<std::string> name_of(const Longest::Queue& queue) {
    for (const std::int32_t priority : queue.what.host.priorities) {
      const auto first =
          crawl_.bucket_store().read_queue(queue.what.bucket, queue.host, priority, 0, 1);
      if (!first) return tl::unexpected(first.error());
      const auto url = first->empty() ? std::nullopt : decode_record(first->front().record);
      if (url) return queue_of(*url);
    }
    return std::string("(unknown)");
  }

  SharedCrawl& crawl_;
  Longest longest_;
  FrontierStats& stats_;
  const std::int64_t now_ = to_milliseconds(std::chrono::system_clock::now());
};

Result<SharedSummary> summarize(SharedCrawl& crawl, std::size_t longest_queues) {
  const auto buckets = crawl.survey();
  if (!buckets) return tl::unexpected(buckets.error());
  SharedSummary summary;
  Counters sum;
  std::uint64_t open = 0, deferred = 0;
  for (const SharedCrawl::Bucket& bucket : *buckets) {
    if (!bucket.trouble.empty()) {
      return error(bucket.is_damaged ? ErrorCode::kCorrupt : ErrorCode::kUnavailable,
                   bucket.trouble);
    }
    add_counters(sum, bucket.counters);
    open += bucket.open;
    deferred += bucket.deferred;
    summary.hosts_known += bucket.hosts;
    summary.owned += bucket.owner.token.empty() ? 0 : 1;
    summary.messages += bucket.inbox;
    summary.inboxes += bucket.inbox > 0 ? 1 : 0;
    summary.commands += bucket.commands;
  }
  static_cast<FrontierCounters&>(summary.stats) = sum;
  summary.stats.queued = open - std::min(open, deferred);
  summary.stats.deferred = deferred;
  if (longest_queues == 0) return summary;
  LongestSharedQueues queues(crawl, longest_queues, summary.stats);
  for (const BucketId bucket : crawl.buckets())
    if (auto added = queues.add(bucket); !added) return tl::unexpected(added.error());
  auto longest = queues.finish();
  if (!longest) return tl::unexpected(longest.error());
  summary.longest_queues = *std::move(longest);
  return summary;
}

std::string as_shared_json(const SharedSummary& summary, const SharedConfig& config,
                           bool has_hosts) {
  ordered_json json;
  add_counts(summary.stats, json);
  if (!has_hosts) {
    for (const char* key : {"hosts", "hosts_blocked", "hosts_given_up"})
      json[key] = nullptr;  // they were not read
  }
  json["hosts_known"] = summary.hosts_known;
  json["longest_queues"] = ordered_json::array();
  for (const HostInfo& host : summary.longest_queues)
    json["longest_queues"].push_back(json_of(host));
  json["buckets"] = config.buckets;
  json["buckets_owned"] = summary.owned;
  json["inbox_messages"] = summary.messages;
  json["inboxes_filled"] = summary.inboxes;
  json["commands"] = summary.commands;
  json["expected_urls"] = config.expected_urls;
  json["delay_ms"] = config.delay.count();
  json["profile"] = config.profile;
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string as_shared_text(const SharedSummary& summary, const SharedConfig& config,
                           bool has_hosts) {
  std::string text = counts_text(summary.stats, 0);
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += stats_line(name, value);
  };
  if (!has_hosts) {
    text.erase(text.rfind("hosts "));
    line("hosts", fmt::format("{} with URLs or settings", summary.hosts_known));
  }
  line("buckets", fmt::format("{}, {} owned", config.buckets, summary.owned));
  line("inboxes", fmt::format("{} messages in {} of them", summary.messages, summary.inboxes));
  if (summary.commands > 0) line("commands", fmt::format("{} for owners", summary.commands));
  line("delay", format_duration(config.delay));
  line("rules for keys", printable(config.profile));
  for (const HostInfo& host : summary.longest_queues)
    text += queue_line(host);
  return text;
}

}  // namespace

int run_shared_stats(const FrontierStatsArguments& arguments) {
  const auto crawl = open_shared_crawl({arguments.state_dir}, arguments.redis);
  if (!crawl) return crawl.error();
  const auto summary = summarize(**crawl, arguments.hosts);
  if (!summary) return report(summary.error());
  const SharedConfig& config = (*crawl)->begun().config;
  const bool has_hosts = arguments.hosts > 0;
  say_lines(stdout, arguments.json ? as_shared_json(*summary, config, has_hosts)
                                   : as_shared_text(*summary, config, has_hosts));
  return kDone;
}

}  // namespace trawl::cli
