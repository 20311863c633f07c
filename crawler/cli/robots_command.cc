// trawl robots
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/robots.h"

#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/document.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/explain/state_names.h"
#include "crawler/parse/headers/media_type.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_robots() {
  return {
      .text =
          R"(Prints a line for each URL, with fields separated by tabs: "allowed" or "disallowed", the number and
the text of the deciding line of the robots.txt (or "-" and the reason if no line decides), and the
URL.

ROBOTS is a file, - for standard input, or an http(s) URL. A URL is fetched and up to 5 redirects are
followed; only a URL with a private address may redirect to a private address. As RFC 9309 requires,
a 4xx status allows everything; 429 and 5xx disallow everything. AGENT is a crawler's product token
or user agent, from which the token is taken as in a crawl: "trawl", "trawl/0.1", or a browser's user
agent with "compatible; trawl/0.1" in parentheses. A URL may be only a path.

  --json   {"url":"...","allowed":true,"line":12,"text":"Allow: /a","reason":"rule"} for each URL;
           then {"robots":"...","agent":"...","crawl_delay_s":2.5,"sitemaps":["..."]}. If no line
           decides, "line" is null and "reason" is "no rule matches", "no group", "robots.txt" (which
           may always be fetched) or "status")",
      .output = R"(A line for each URL, on standard output.)",
      .examples = {{"trawl robots https://example.com/robots.txt trawl https://example.com/a /b"},
                   {"trawl robots robots.txt examplebot/2.0 /private/ && echo allowed"}},
      .exits = {{0, "all URLs are allowed"},
                {1, "some are disallowed"},
                {2, "on errors and wrong usage"}},
      .exits_note = "as for grep"};
}

constexpr std::size_t kMaxCounted = 500 << 10;

// Exit codes; see help_of_robots().
constexpr int kAllowed = 0;
constexpr int kDisallowed = 1;

struct RobotsArguments {
  std::string source;
  std::string agent;
  std::vector<std::string> urls;
  bool json = false;
  bool quiet = false;
};

void warn(const Document& document, std::string_view what) {
  say(stderr, "trawl: warning: {} {}\n", document.name, what);
}

// RFC 9309, section 2.3.1: how the status of a response decides.
Robots rules_of(const Document& document) {
  const int status = document.status;
  if (status == 429 || status >= 500) {
    warn(document, fmt::format("has HTTP status {}: nothing is allowed", status));
    return Robots::disallow_all();
  }
  if (status >= 300) {
    warn(document, fmt::format("has HTTP status {}: everything is allowed", status));
    return Robots::allow_all();
  }
  if (document.bytes.size() > kMaxCounted)
    warn(document, "is larger than 500 KiB; the rest is ignored");
  if (is_html_media_type(document.content_type)) warn(document, "is an HTML page");
  return Robots::parse(document.bytes);
}

class Judge {
 public:
  Judge(const RobotsArguments& arguments, const Document& document)
      : arguments_(arguments),
        document_(document),
        robots_(rules_of(document)),
        // The site of the URL that was given: rules apply to it even after a redirect. For a file
        // any host will do, since rules match path and query only.
        site_(*Url::parse(document.url ? arguments.source : "http://localhost/")) {}

  Result<int> run() {
    int exit_code = kAllowed;
    for (const std::string& text : arguments_.urls) {
      const auto url = Url::parse(text, &site_);
      if (!url) {
        report(url.error());
        exit_code = kTrouble;
        continue;
      }
      if (document_.url && url->origin() != site_.origin()) {
        warn(document_, fmt::format("does not apply to {}, which has another scheme, host or port",
                                    url->href()));
      }
      const RobotsDecision decision = robots_.decide(arguments_.agent, *url);
      const std::string_view name = name_of(*url, text);
      arguments_.json ? print_json(name, decision) : print_line(name, decision);
      if (!decision.allowed) exit_code = std::max(exit_code, kDisallowed);
      if (auto written = out_.flush_if_full(); !written) return tl::unexpected(written.error());
    }
    if (arguments_.json) print_json_facts();
    if (auto written = out_.flush(); !written) return tl::unexpected(written.error());
    if (!arguments_.json && !arguments_.quiet) print_facts();
    return exit_code;
  }

 private:
  // A path is printed as given if the site is unknown.
  std::string_view name_of(const Url& url, const std::string& text) const {
    const bool is_path = !document_.url && !Url::parse(text);
    return url.href().substr(is_path ? site_.origin().size() : 0);
  }

  void print_line(std::string_view url, const RobotsDecision& decision) {
    out_ << (decision.allowed ? "allowed\t" : "disallowed\t");
    if (decision.reason == RobotsReason::kRule) {
      out_ << std::uint64_t{decision.line} << '\t' << printable(decision.text);
    } else {
      out_ << "-\t" << to_string(decision.reason);
    }
    out_ << '\t' << url << '\n';
  }

  void print(const nlohmann::ordered_json& json) {
    out_ << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }

  void print_json(std::string_view url, const RobotsDecision& decision) {
    nlohmann::ordered_json json{{"url", url},
                                {"allowed", decision.allowed},
                                {"line", nullptr},
                                {"text", nullptr},
                                {"reason", to_string(decision.reason)}};
    if (decision.reason == RobotsReason::kRule) {
      json["line"] = decision.line;
      json["text"] = decision.text;
    }
    print(json);
  }

  std::optional<double> crawl_delay() const {
    const auto delay = robots_.crawl_delay(arguments_.agent);
    if (!delay) return std::nullopt;
    return std::chrono::duration<double>(*delay).count();
  }

  void print_json_facts() {
    nlohmann::ordered_json json{{"robots", document_.name},
                                {"agent", arguments_.agent},
                                {"crawl_delay_s", nullptr},
                                {"sitemaps", robots_.sitemaps()}};
    if (const auto delay = crawl_delay()) json["crawl_delay_s"] = *delay;
    print(json);
  }

  void print_facts() const {
    if (const auto delay = crawl_delay()) say(stderr, "{:<12}{} s\n", "crawl delay", *delay);
    for (const std::string& sitemap : robots_.sitemaps())
      say(stderr, "{:<12}{}\n", "sitemap", printable(sitemap));
  }

  const RobotsArguments& arguments_;
  const Document& document_;
  const Robots robots_;
  const Url site_;
  BufferedOutput out_;
};

int run_robots(const RobotsArguments& arguments) {
  if (arguments.agent.empty()) throw CLI::ValidationError("AGENT", "is empty");
  const auto document = read_document(arguments.source, kRobotsTxtOptions);
  if (!document) return report_trouble(document.error());
  const auto exit_code = Judge(arguments, *document).run();
  return exit_code ? *exit_code : report_trouble(exit_code.error());
}

}  // namespace

void add_robots_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<RobotsArguments>();
  auto* command =
      app.add_subcommand("robots", "Check URLs against a robots.txt, and print the deciding lines");
  command->add_option("ROBOTS", arguments->source, "A file, - for standard input, or a URL")
      ->required();
  command->add_option("AGENT", arguments->agent, "The crawler's product token")->required();
  command->add_option("URL", arguments->urls, "The URLs to check")->required();
  command->add_flag("--json", arguments->json, "Print JSON, one object per line");
  command->add_flag("-q,--quiet", arguments->quiet, "Print verdicts, warnings and errors only");
  describe(command, help_of_robots());
  command->callback([arguments, &exit_code] { exit_code = run_robots(*arguments); });
}

}  // namespace trawl::cli
