// trawl cluster status, buckets and members.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crawler/cli/cluster_arguments.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/frontier_counts.h"
#include "crawler/cli/frontier_redis.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/config/config_values.h"
#include "frontier/store/store_records.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Members = std::vector<MemberTable::Seen>;
using Buckets = std::vector<SharedCrawl::Bucket>;

constexpr milliseconds kBetweenReadings{200};
// How long a node is waited for that is out of reach.
constexpr milliseconds kPatience{2000};
// How long messages are watched, if there are any.
constexpr milliseconds kLeastWatch{1000};

// The members as first read, and which of them have moved since.
struct MemberReadings {
  Members members = {};
  std::set<std::string, std::less<>> alive = {};
  std::string trouble = {};  // why they are not known
  bool is_alive(const MemberTable::Seen& member) const { return alive.contains(member.name); }
};

// Reads the heartbeats until all have moved, for `wait` at most.
Result<MemberReadings> watch_members(SharedCrawl& crawl, milliseconds wait) {
  const auto until = Clock::now() + wait;
  auto first = crawl.bucket_store().members();
  if (!first) return tl::unexpected(first.error());
  MemberReadings readings{.members = *std::move(first), .alive = {}};
  while (readings.alive.size() < readings.members.size() && Clock::now() < until) {
    std::this_thread::sleep_for(
        std::min(kBetweenReadings, std::chrono::ceil<milliseconds>(until - Clock::now())));
    const auto next = crawl.bucket_store().members();
    if (!next) return tl::unexpected(next.error());
    for (const MemberTable::Seen& now : *next) {
      const auto before = std::ranges::find(readings.members, now.name, &MemberTable::Seen::name);
      if (before == readings.members.end()) {
        readings.members.push_back(now);
        readings.alive.insert(now.name);  // it has just begun
      } else if (before->record != now.record) {
        before->record = now.record;
        readings.alive.insert(now.name);
      }
    }
  }
  std::ranges::sort(readings.members, {}, &MemberTable::Seen::name);
  return readings;
}

struct ClusterState {
  MemberReadings members;
  Buckets buckets;
  std::vector<SharedCrawl::Node> nodes;
  Counters sum;
  std::uint64_t open = 0;
  std::uint64_t deferred = 0;
  std::uint64_t messages = 0;
  std::uint64_t inboxes = 0;  // with messages
  std::uint64_t commands = 0;
  std::uint64_t owned = 0;   // buckets of members that are alive
  std::uint64_t silent = 0;  // buckets of others
  // Buckets about which nothing is known, and why.
  struct Unread {
    std::uint64_t buckets = 0;
    std::string trouble = {};  // of the first
  };
  Unread unknown = {};  // their nodes are out of reach
  Unread damaged = {};  // a key of theirs is damaged, or another program's
  // Inboxes whose first message was there at both readings, `between` apart.
  std::uint64_t standing = 0;
  milliseconds between{0};
};

Result<ClusterState> state_of(SharedCrawl& crawl, milliseconds wait) {
  const auto begin = Clock::now();
  crawl.bucket_store().set_patience(kPatience);
  const auto before = crawl.survey(kPatience);
  if (!before) return tl::unexpected(before.error());
  auto members = watch_members(crawl, wait);
  if (!members && members.error().code != ErrorCode::kUnavailable)
    return tl::unexpected(members.error());
  if (!members) members = MemberReadings{.trouble = members.error().message};
  if (std::ranges::any_of(*before, [](const auto& bucket) { return bucket.inbox > 0; }))
    std::this_thread::sleep_until(begin + std::min(wait, kLeastWatch));
  const auto end = Clock::now();
  auto now = crawl.survey(kPatience);
  if (!now) return tl::unexpected(now.error());
  ClusterState state{.members = *std::move(members),
                     .buckets = *std::move(now),
                     .nodes = crawl.nodes(),
                     .sum = {},
                     .between = std::chrono::floor<milliseconds>(end - begin)};
  for (const SharedCrawl::Bucket& bucket : state.buckets) {
    if (!bucket.trouble.empty()) {
      auto& unread = bucket.is_damaged ? state.damaged : state.unknown;
      if (unread.buckets++ == 0) unread.trouble = bucket.trouble;
      continue;
    }
    add_counters(state.sum, bucket.counters);
    state.open += bucket.open;
    state.deferred += bucket.deferred;
    state.messages += bucket.inbox;
    state.inboxes += bucket.inbox > 0 ? 1 : 0;
    state.commands += bucket.commands;
    state.standing +=
        bucket.first_message && bucket.first_message == (*before)[bucket.id].first_message ? 1 : 0;
    if (bucket.owner.token.empty()) continue;
    const auto owner = SharedCrawl::owner_of(bucket.owner.token, state.members.members);
    ++(owner && state.members.alive.contains(*owner) ? state.owned : state.silent);
  }
  return state;
}

// What a silent member said last: others may own its buckets by now.
std::string members_text(const MemberReadings& readings) {
  std::string text;
  for (const MemberTable::Seen& member : readings.members) {
    const bool is_alive = readings.is_alive(member);
    text += fmt::format("{:<7} {:>9} buckets  {}\n", is_alive ? "alive" : "silent",
                        fmt::format("{}{}", is_alive ? "" : "had ", member.record.buckets),
                        printable(member.name));
  }
  return text;
}

ordered_json members_json(const MemberReadings& readings) {
  ordered_json json = ordered_json::array();
  for (const MemberTable::Seen& member : readings.members) {
    json.push_back({{"name", member.name},
                    {"alive", readings.is_alive(member)},
                    {"buckets", member.record.buckets},
                    {"beat", member.record.beat},
                    {"session", member.record.session}});
  }
  return json;
}

std::uint64_t nobody_of(const ClusterState& state) {
  return state.buckets.size() - state.owned - state.silent - state.unknown.buckets -
         state.damaged.buckets;
}

std::string status_text(const ClusterState& state, const BegunCrawl& begun,
                        const std::string& name) {
  std::string text;
  const auto line = [&text](std::string_view head, const std::string& value) {
    text += stats_line(head, value);
  };
  const Counters& sum = state.sum;
  const auto alive = state.members.alive.size(), all = state.members.members.size();
  const BucketId buckets = begun.config.buckets;
  line("crawl", fmt::format("{} ({})", name, printable(begun.id)));
  line("members", state.members.trouble.empty()
                      ? fmt::format("{} alive, {} silent", alive, all - alive)
                      : fmt::format("unknown: {}", printable(state.members.trouble)));
  line("buckets", fmt::format("{}: {} of living members, {} of others, {} of nobody", buckets,
                              state.owned, state.silent, nobody_of(state)));
  for (const auto& [unread, is] :
       {std::pair(&state.unknown, "unknown"), {&state.damaged, "damaged"}}) {
    if (unread->buckets == 0) continue;
    line("", fmt::format("{} {}, and not in what follows: {}", unread->buckets, is,
                         printable(unread->trouble)));
  }
  line("admitted", fmt::format("{} URLs", sum.admitted));
  line("completed", fmt::format("{}: {} succeeded, {} failed, {} skipped", sum.completed,
                                sum.succeeded, sum.failed, sum.skipped));
  line("open", fmt::format("{}: {} queued, {} deferred", state.open,
                           state.open - std::min(state.open, state.deferred), state.deferred));
  line("set aside", fmt::format("{} held, {} failed", sum.held, sum.set_aside_failed));
  line("inboxes", fmt::format("{} messages in {} buckets", state.messages, state.inboxes));
  if (state.standing > 0) {
    line("", fmt::format("in {} of them the oldest has waited for {} or longer", state.standing,
                         format_duration(state.between)));
  }
  if (state.commands > 0) line("commands", fmt::format("{} for owners", state.commands));
  for (const SharedCrawl::Node& node : state.nodes) {
    const std::string most = node.max_memory == 0
                                 ? ", no limit"
                                 : fmt::format(" of {}", readable_bytes(node.max_memory));
    line("node", node.trouble.empty()
                     ? fmt::format("{}: {}{}, Redis {}", node.address, readable_bytes(node.memory),
                                   most, printable(node.version))
                     : fmt::format("{}: {}", node.address, printable(node.trouble)));
  }
  return text + members_text(state.members);
}

std::string status_json_text(const ClusterState& state, const BegunCrawl& begun,
                             const std::string& name) {
  FrontierStats stats;
  static_cast<FrontierCounters&>(stats) = state.sum;
  ordered_json json{{"crawl", name}, {"id", begun.id}};
  for (const auto& [key, value] : {std::pair("admitted", stats.admitted),
                                   {"completed", stats.completed},
                                   {"succeeded", stats.succeeded},
                                   {"failed", stats.failed},
                                   {"skipped", stats.skipped},
                                   {"held", stats.held},
                                   {"set_aside_failed", stats.set_aside_failed},
                                   {"open", state.open},
                                   {"deferred", state.deferred}})
    json[key] = value;
  json["buckets"] = {{"all", begun.config.buckets},      {"of_living_members", state.owned},
                     {"of_others", state.silent},        {"of_nobody", nobody_of(state)},
                     {"unknown", state.unknown.buckets}, {"damaged", state.damaged.buckets}};
  if (state.unknown.buckets > 0) json["trouble"] = state.unknown.trouble;
  if (state.damaged.buckets > 0) json["damage"] = state.damaged.trouble;
  json["inbox"] = {{"messages", state.messages},
                   {"buckets", state.inboxes},
                   {"standing", state.standing},
                   {"standing_ms", state.standing > 0 ? state.between.count() : 0}};
  json["commands"] = state.commands;
  json["members"] = members_json(state.members);
  json["nodes"] = ordered_json::array();
  for (const SharedCrawl::Node& node : state.nodes) {
    ordered_json one{{"node", node.address}};
    if (node.trouble.empty()) {
      one.update({{"memory_bytes", node.memory},
                  {"max_memory_bytes", node.max_memory},
                  {"version", node.version}});
    } else {
      one["trouble"] = node.trouble;
    }
    json["nodes"].push_back(std::move(one));
  }
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

// The name of the owner, or of its process if it is not in the table of members.
std::string owner_text(const SharedCrawl::Bucket& bucket, const Members& members) {
  const std::string& token = bucket.owner.token;
  if (const auto owner = SharedCrawl::owner_of(token, members)) return std::string(*owner);
  return token.empty() ? "" : fmt::format("({})", token.substr(0, token.find('.')));
}

std::string buckets_text(const Buckets& buckets, const Members& members) {
  std::vector<std::string> owners;
  std::size_t widest = 5;
  for (const SharedCrawl::Bucket& bucket : buckets) {
    const std::string owner = owner_text(bucket, members);
    owners.push_back(!bucket.trouble.empty() ? "?" : owner.empty() ? "-" : printable(owner));
    widest = std::max(widest, owners.back().size());
  }
  std::string text = fmt::format("{:>6}  {:<{}} {:>10} {:>10} {:>10} {:>8}  {}\n", "bucket",
                                 "owner", widest, "batch", "open", "queued", "inbox", "node");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const SharedCrawl::Bucket& bucket = buckets[i];
    text += fmt::format("{:>6}  {:<{}} {:>10} {:>10} {:>10} {:>8}  {}\n", bucket.id, owners[i],
                        widest, bucket.owner.version, bucket.open,
                        bucket.open - std::min(bucket.open, bucket.deferred), bucket.inbox,
                        bucket.trouble.empty() ? bucket.node.empty() ? "-" : bucket.node
                                               : printable(bucket.trouble));
  }
  return text;
}

std::string buckets_json_text(const Buckets& buckets, const Members& members) {
  ordered_json json = ordered_json::array();
  for (const SharedCrawl::Bucket& bucket : buckets) {
    const std::string owner = owner_text(bucket, members);
    json.push_back({{"bucket", bucket.id},
                    {"owner", owner.empty() ? ordered_json() : ordered_json(owner)},
                    {"batch", bucket.owner.version},
                    {"open", bucket.open},
                    {"queued", bucket.open - std::min(bucket.open, bucket.deferred)},
                    {"deferred", bucket.deferred},
                    {"set_aside", bucket.set_aside},
                    {"hosts", bucket.hosts},
                    {"inbox", bucket.inbox},
                    {"commands", bucket.commands},
                    {"node", bucket.node.empty() ? ordered_json() : ordered_json(bucket.node)}});
    if (!bucket.trouble.empty()) json.back()["trouble"] = bucket.trouble;
  }
  return json.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_cluster_status(const ClusterArguments& arguments) {
  const auto crawl = open_shared_crawl(arguments.urls, arguments.redis);
  if (!crawl) return crawl.error();
  const auto state = state_of(**crawl, arguments.wait);
  if (!state) return report(state.error());
  const BegunCrawl& begun = (*crawl)->begun();
  const std::string& name = (*crawl)->keys().crawl();
  say_lines(stdout, arguments.json ? status_json_text(*state, begun, name)
                                   : status_text(*state, begun, name));
  return kDone;
}

int run_cluster_buckets(const ClusterArguments& arguments) {
  const auto crawl = open_shared_crawl(arguments.urls, arguments.redis);
  if (!crawl) return crawl.error();
  const auto members = (*crawl)->bucket_store().members();
  if (!members) return report(members.error());
  const auto buckets = (*crawl)->survey(kPatience);
  if (!buckets) return report(buckets.error());
  say_lines(stdout, arguments.json ? buckets_json_text(*buckets, *members)
                                   : buckets_text(*buckets, *members));
  return kDone;
}

int run_cluster_members(const ClusterArguments& arguments) {
  const auto crawl = open_shared_crawl(arguments.urls, arguments.redis);
  if (!crawl) return crawl.error();
  const auto members = watch_members(**crawl, arguments.wait);
  if (!members) return report(members.error());
  if (arguments.json) {
    say_lines(
        stdout,
        members_json(*members).dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    say_lines(stdout, members_text(*members));
  }
  if (members->members.empty())
    say(stderr, "trawl: no crawler takes part in {}\n", (*crawl)->keys().crawl());
  return kDone;
}

}  // namespace trawl::cli
