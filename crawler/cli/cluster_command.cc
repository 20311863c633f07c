// The options of `trawl cluster`.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "crawler/cli/cluster_arguments.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

struct ClusterVerb {
  const char* name;
  const char* summary;
  int (*run)(const ClusterArguments&);
  bool waits;  // for heartbeats
  VerbHelp help;
};

VerbHelp help_of_cluster() {
  return {.text =
              "REDIS is redis://HOST:PORT/NAME with the address of any node and cluster.name of "
              "the crawl, or rediss://\nfor TLS. Several nodes, with commas between them or as "
              "several arguments, are tried one after the other. \nAll commands only read, "
              "and work whether the crawl runs or not. For its URLs: trawl frontier dump, load, "
              "\nretry and revive take the same address.",
          .output = "On standard output.",
          .examples = {{"trawl cluster status redis://10.0.0.1:6379/crawl1"},
                       {"trawl cluster status rediss://10.0.0.1,10.0.0.2/crawl1 --username trawl "
                        "--password-file redis-password"},
                       {"trawl cluster buckets redis://10.0.0.1:6379/crawl1 | sort -k 4 -n | tail",
                        "the buckets with the most URLs"}},
          .exits = common_exits("printed")};
}

VerbHelp help_of_status() {
  return {.text =
              "A member is alive if its heartbeat moves while the command waits, for --wait at "
              "most: more than a quarter of\ncluster.takeover_after. A message of an inbox that "
              "is not taken meanwhile, although its bucket has an\nowner, shows that the owner "
              "is behind.",
          .output =
              "Totals of the crawl, its members, and the memory of the nodes; with --json an "
              "object.",
          .examples = {{"trawl cluster status redis://10.0.0.1:6379/crawl1"},
                       {"trawl cluster status redis://10.0.0.1:6379/crawl1 --json | jq .inbox"}},
          .exits = common_exits("printed")};
}

VerbHelp help_of_buckets() {
  return {.output =
              "A line for each bucket: its number, owner (\"-\": none), the number of its "
              "last batch, URLs open (queued or\ndeferred), queued, messages in its inbox, "
              "and the node that has it; with --json an array.",
          .examples = {{"trawl cluster buckets redis://10.0.0.1:6379/crawl1"}},
          .exits = common_exits("printed")};
}

VerbHelp help_of_members() {
  return {.text = "See trawl cluster status for --wait.",
          .output =
              "A line for each member: its name, whether it is alive or silent, its buckets, "
              "and its heartbeats; with\n--json an array.",
          .examples = {{"trawl cluster members redis://10.0.0.1:6379/crawl1 --wait 20s",
                        "for cluster.takeover_after = \"60s\""}},
          .exits = common_exits("printed")};
}

void add_cluster_verb(CLI::App* cluster, const ClusterVerb& verb, int& exit_code) {
  const auto arguments = std::make_shared<ClusterArguments>();
  auto* command = cluster->add_subcommand(verb.name, verb.summary);
  command
      ->add_option("REDIS", arguments->urls,
                   "redis://HOST:PORT/NAME; further nodes of the same Redis")
      ->required();
  add_redis_login(command, arguments->redis);
  command->add_flag("--json", arguments->json, "Print JSON");
  if (verb.waits) {
    command
        ->add_option_function<std::string>(
            "--wait",
            [arguments](const std::string& text) {
              const auto wait = parse_duration(text);
              if (!wait) throw CLI::ValidationError("--wait", wait.error());
              if (*wait > std::chrono::hours(1))
                throw CLI::ValidationError("--wait", "must be at most 1h");
              arguments->wait = *wait;
            },
            "How long to wait for heartbeats (default 4s)")
        ->type_name("DURATION");
  }
  describe(command, verb.help);
  command->callback([arguments, run = verb.run, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace

void add_cluster_command(CLI::App& app, int& exit_code) {
  auto* cluster = app.add_subcommand(
      "cluster", "See what a crawl by many crawlers does: its members, buckets and nodes of Redis");
  cluster->require_subcommand(1);
  describe(cluster, help_of_cluster());
  add_cluster_verb(
      cluster,
      {"status", "Print totals, members and nodes", run_cluster_status, true, help_of_status()},
      exit_code);
  add_cluster_verb(cluster,
                   {"buckets", "Print what each bucket holds, and who owns it", run_cluster_buckets,
                    false, help_of_buckets()},
                   exit_code);
  add_cluster_verb(cluster,
                   {"members", "Print the crawlers that take part", run_cluster_members, true,
                    help_of_members()},
                   exit_code);
}

}  // namespace trawl::cli
