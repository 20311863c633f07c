// trawl explain
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "trawl/url_groups.h"

#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/document.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/explanation_text.h"
#include "crawler/cli/numbered_line_reader.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/host_politeness.h"
#include "crawler/config/user_agent.h"
#include "crawler/explain/url_explainer.h"
#include "crawler/status/control_client.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

VerbHelp help_of_explain() {
  return {
      .text =
          R"(Says first whether a crawl with this config would fetch a URL, and when, or which rule forbids it.
Then what the crawl knows of the URL: fetched with status and time (with frontier.ledger = true,
otherwise only seen), failed, held, queued; the state of its host; and the details: its canonical key and
host queue, each limit, the blocklists, its priority.

A crawl that is running is asked through its control socket, by the rules it has in effect, unless --set
is given. Otherwise the state directory is read; nothing is changed.

A seed has depth 0, a URL that the crawl holds the depth at which it was found, any other URL depth 1.
--depth sets another depth, --hops how many pages in a row, up to the one with the link, were out of
scope, --kind how the link was found, for scope.rules with a kind. A link in skipped.jsonl has the depth of its page plus one, the target of a redirect the depth of
the redirect.)",
      .output =
          R"(For each URL the verdict and lines of details, with an empty line between two URLs; with --json,
an object on each line.)",
      .examples = {{"trawl explain my.toml https://example.com/calendar/2031/07"},
                   {"trawl explain example.com https://example.com/a",
                    "the crawl in that directory"},
                   {"trawl explain my.toml --json --depth 5 https://example.com/a | jq .verdict"},
                   {"trawl explain my.toml - <urls.txt", "a URL on each line"}},
      .exits = {{kDone, "the rules allow all URLs, fetched before or not"},
                {kFailed, "a rule, a limit or robots.txt forbids one"},
                {kUsage, "wrong usage"},
                {kBadConfig, "errors in the config"}}};
}

struct ExplainArguments {
  std::string target;
  std::vector<std::string> overrides;
  std::vector<std::string> urls;
  std::optional<std::uint32_t> depth;
  std::optional<std::uint32_t> hops;
  std::optional<FoundAs> kind;
  std::string robots;
  bool fetch_robots = false;
  bool json = false;
};

// RFC 9309, section 2.3.1: how a status decides. A file has the status 0.
Robots robots_of(const Document& document) {
  if (document.status == 429 || document.status >= 500) return Robots::disallow_all();
  if (document.status >= 300) return Robots::allow_all();
  return Robots::parse(document.bytes);
}

Result<RobotsCheck> check_robots(const std::string& source, const std::string& agent,
                                 const Url& url) {
  const auto document = read_document(source, kRobotsTxtOptions);
  if (!document) return tl::unexpected(document.error());
  return RobotsCheck{.source = document->name, .decision = robots_of(*document).decide(agent, url)};
}

// Answers questions on URLs, with the help of the crawl if it is running.
class Answers {
 public:
  static tl::expected<std::unique_ptr<Answers>, int> open(const ExplainArguments& arguments) {
    const auto input = CrawlInput::resolve(arguments.target, arguments.overrides);
    if (!input) return tl::unexpected(input.error());
    auto answers = std::unique_ptr<Answers>(new Answers(arguments, input->config()));
    const std::filesystem::path& state_dir = input->state_dir();
    if (arguments.overrides.empty() && !state_dir.empty()) {
      if (auto client = ControlClient::connect(state_dir)) {
        answers->running_ = std::move(*client);
        answers->running_->set_timeout(std::chrono::minutes(10));  // long queues are read
        return answers;
      }
    }
    auto explainer = UrlExplainer::create(input->config());
    if (!explainer) {
      report(explainer.error());
      return tl::unexpected(static_cast<int>(kBadConfig));
    }
    answers->explainer_ = std::move(*explainer);
    if (!state_dir.empty()) answers->files_ = std::make_unique<StoppedCrawlFiles>(state_dir);
    return answers;
  }

  Result<ordered_json> answer(const std::string& text) const {
    auto json = explain(text);
    if (!json || (!arguments_.fetch_robots && arguments_.robots.empty())) return json;
    const auto url = Url::parse(text);
    if (!url) return json;
    const std::string source =
        arguments_.fetch_robots ? url->origin() + "/robots.txt" : arguments_.robots;
    auto robots = check_robots(source, robots_token_of(config_.crawl), *url);
    if (!robots) return tl::unexpected(std::move(robots.error()));
    robots->obeyed = HostPoliteness(config_.politeness).respects_robots(politeness_group(*url));
    add_robots(*json, *robots);
    return json;
  }

 private:
  Answers(const ExplainArguments& arguments, const CrawlConfig& config)
      : arguments_(arguments), config_(config) {}

  Result<ordered_json> explain(const std::string& url) const {
    const UrlQuestion question{
        .url = url, .depth = arguments_.depth, .hops = arguments_.hops, .kind = arguments_.kind};
    if (explainer_) return to_json(explainer_->explain(question, files_.get()));
    std::string target = "/api/v1/url?url=" + ControlClient::escaped(url);
    if (question.depth) target += fmt::format("&depth={}", *question.depth);
    if (question.hops) target += fmt::format("&hops={}", *question.hops);
    if (question.kind) target += fmt::format("&kind={}", to_string(*question.kind));
    const auto text = running_->get(target);
    if (!text) return tl::unexpected(text.error());
    auto json = ordered_json::parse(*text, nullptr, false);
    if (json.is_object()) return json;
    return error(ErrorCode::kCorrupt, "the running crawl gives an answer that is not JSON");
  }

  const ExplainArguments& arguments_;
  const CrawlConfig config_;
  std::optional<ControlClient> running_;
  std::optional<UrlExplainer> explainer_;
  std::unique_ptr<StoppedCrawlFiles> files_;
};

// Explains one URL after the other.
class ExplainSession {
 public:
  ExplainSession(const ExplainArguments& arguments, const Answers& answers)
      : arguments_(arguments), answers_(answers) {}

  Result<void> explain(const std::string& url) {
    const auto json = answers_.answer(url);
    if (!json) return tl::unexpected(json.error());
    if (!json->value("followed", false)) all_allowed_ = false;
    if (arguments_.json) {
      out_ << json->dump(-1, ' ', true, ordered_json::error_handler_t::replace) << "\n";
    } else {
      if (!first_) out_ << "\n";
      out_ << explanation_text(*json);
    }
    first_ = false;
    return out_.flush_if_full();
  }

  // A URL on each line of standard input.
  Result<void> explain_input() {
    NumberedLineReader lines(STDIN_FILENO);
    NumberedLineReader::Line line;
    while (true) {
      if (lines.may_wait()) {
        if (auto written = out_.flush(); !written) return written;
      }
      const auto more = lines.next(line);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
      if (line.text.empty()) continue;
      if (auto done = explain(std::string(line.text)); !done) return done;
    }
  }

  Result<bool> finish() {
    if (auto written = out_.flush(); !written) return tl::unexpected(written.error());
    return all_allowed_;
  }

 private:
  const ExplainArguments& arguments_;
  const Answers& answers_;
  BufferedOutput out_;
  bool first_ = true;
  bool all_allowed_ = true;
};

int run_explain(const ExplainArguments& arguments) {
  const auto reads_input = std::ranges::count(arguments.urls, "-") +
                           (arguments.target == "-" ? 1 : 0) + (arguments.robots == "-" ? 1 : 0);
  if (reads_input > 1) return usage_error("only one argument can be - for standard input");
  const auto answers = Answers::open(arguments);
  if (!answers) return answers.error();
  ExplainSession session(arguments, **answers);
  for (const std::string& url : arguments.urls) {
    const auto done = url == "-" ? session.explain_input() : session.explain(url);
    if (done) continue;
    report(done.error());
    return kUsage;
  }
  const auto allowed = session.finish();
  if (!allowed) {
    report(allowed.error());
    return kUsage;
  }
  return *allowed ? kDone : kFailed;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ExplainArguments>();
  auto* command =
      app.add_subcommand("explain", "Say whether and when a crawl would fetch a URL, and why");
  command
      ->add_option("CONFIG|STATE_DIR", arguments->target,
                   "The config file (TOML) or the directory of a crawl")
      ->required();
  command
      ->add_option("URL", arguments->urls, "The URLs to explain; - reads them from standard input")
      ->required();
  command->add_option("--set", arguments->overrides, "Override a config key")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--depth", arguments->depth,
                      "Links from a seed (default: as the crawl found it, else 0 or 1)");
  command->add_option("--hops", arguments->hops,
                      "Pages out of scope in a row that lead to the URL");
  const std::string kinds = fmt::format("{}", fmt::join(kFoundAsNames, ", "));
  command
      ->add_option_function<std::string>(
          "--kind",
          [arguments, kinds](const std::string& name) {
            arguments->kind = find_found_as(name);
            if (!arguments->kind) throw CLI::ValidationError("--kind", "expected one of " + kinds);
          },
          "How the URL was found: " + kinds)
      ->type_name("KIND");
  auto* robots =
      command->add_option("--robots", arguments->robots, "Check the URL against this robots.txt")
          ->type_name("FILE");
  command
      ->add_flag("--fetch-robots", arguments->fetch_robots,
                 "Fetch the site's robots.txt and check the URL against it")
      ->excludes(robots);
  command->add_flag("--json", arguments->json, "One JSON object");
  describe(command, help_of_explain());
  command->callback([arguments, &exit_code] { exit_code = run_explain(*arguments); });
}

}  // namespace trawl::cli
