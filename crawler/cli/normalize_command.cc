// trawl normalize
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/utf8.h"
#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/numbered_line_reader.h"
#include "crawler/cli/say.h"
#include "crawler/cli/urls_by_key.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/nearest_name.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_normalize() {
  return {
      .text =
          R"(Prints a line for each URL, with fields separated by tabs: its href (the URL that is fetched), its
canonical key (by which URLs are deduplicated), and the rules that changed the href into the key, or
"-". Without URLs, or if URL is -, URLs are read from standard input, one per line; empty lines and a
byte order mark are skipped. A line that is not an http(s) URL is reported on standard error; the
others are still printed.

  --json   {"line":1,"href":"...","key":"...","rules":["..."],"group":"...","domain":"..."}; "line"
           is the position of the argument or line, "group" the politeness group, "domain" the
           registrable domain
  --merge  print only keys that two or more lines have, each followed by a line per URL: tab, the
           comma-separated numbers of its lines, tab, href; with --json
           {"key":"...","urls":[{"lines":[1,2],"href":"..."}]}. Needs about 300 bytes of memory and
           the text for each distinct URL, and a few bytes for each line that repeats one

RULES is a comma-separated list of names, or all, or none (the default, as in a crawl). A '-' before
a name removes a rule: --rules all,-lowercase_path. NAMES are compared ignoring case; '*' at the end
matches any ending. They replace the default names; if the first has a '+' or '-' before it, they are
added to the default names or removed from them.)",
      .output =
          R"(A line for each URL, on standard output; lines that are not URLs on standard error.)",
      .examples =
          {{"trawl normalize 'HTTP://Example.com:80/%7ejoe/?utm_source=x#top' --rules all"},
           {"trawl normalize --rules drop_parameters --parameter-names=+ref,+src_* < urls.txt"},
           {"trawl normalize --merge --rules sort_query,drop_index < urls.txt"},
           {"trawl normalize --rules all --host .example.com=-drop_www,-sort_query < urls.txt"}},
      .exits = {{0, "all were URLs"},
                {1, "some were not, or reading or writing failed"},
                {2, "wrong usage"},
                {3, "out of space"}}};
}

struct NormalizeArguments {
  std::vector<std::string> urls;
  RulesText rules;
  std::vector<HostRulesText> hosts;
  std::string base;
  bool json = false;
  bool merge = false;
  bool list_rules = false;
};

// --- options

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

// Suggests the nearest name for a misspelt rule.
void check_rule_names(const std::string& option, const std::vector<std::string>& items) {
  std::vector<std::string_view> known = {"all", "none"};
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled != nullptr) known.push_back(info.name);
  }
  for (std::string_view item : items) {
    if (item.starts_with('+') || item.starts_with('-')) item.remove_prefix(1);
    if (std::find(known.begin(), known.end(), item) != known.end()) continue;
    const std::string_view nearest = nearest_name(item, known);
    if (nearest.empty()) continue;
    throw CLI::ValidationError(
        option,
        fmt::format("\"{}\" is not a rule; did you mean {}? --list-rules explains all rules", item,
                    nearest));
  }
}

void add_list(CLI::App* command, const std::string& option,
              std::optional<std::vector<std::string>>& list, const std::string& help) {
  command
      ->add_option_function<std::string>(
          option, [&list](const std::string& text) { list = split(text); }, help)
      ->type_name("NAMES");
}

void add_host(const std::string& text, std::vector<HostRulesText>& hosts) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw CLI::ValidationError("--host", fmt::format("\"{}\" is not of the form HOST=RULES", text));
  }
  auto rules = split(std::string_view(text).substr(equals + 1));
  check_rule_names("--host", rules);
  hosts.push_back({text.substr(0, equals), {.rules = std::move(rules)}});
}

// A list of names for a rule that is not enabled is a mistake.
void check_names_are_used(const NormalizeArguments& arguments, const Profile& profile) {
  const auto check = [&](const auto& names, bool CanonicalRules::*rule, std::string option) {
    if (!names || profile.rules.*rule ||
        std::any_of(profile.hosts.begin(), profile.hosts.end(),
                    [&](const HostRules& host) { return host.rules.*rule; })) {
      return;
    }
    throw CLI::ValidationError(option, "has no effect without its rule; add the rule to --rules");
  };
  check(arguments.rules.parameter_names, &CanonicalRules::drop_parameters, "--parameter-names");
  check(arguments.rules.session_id_names, &CanonicalRules::drop_session_ids, "--session-id-names");
  check(arguments.rules.index_names, &CanonicalRules::drop_index, "--index-names");
}

Profile profile_of(const NormalizeArguments& arguments) {
  auto profile = Profile::from_text(arguments.rules, arguments.hosts);
  if (!profile) throw CLI::ValidationError("--rules", profile.error().message);
  check_names_are_used(arguments, *profile);
  return *std::move(profile);
}

std::optional<Url> base_of(const NormalizeArguments& arguments) {
  if (arguments.base.empty()) return std::nullopt;
  auto base = Url::parse(arguments.base);
  if (!base) throw CLI::ValidationError("--base", base.error().message);
  return *std::move(base);
}

// --- the work

class Normalizer {
 public:
  // `numbered`: the unit in which URLs are counted, such as "line".
  Normalizer(const NormalizeArguments& arguments, Profile profile, std::optional<Url> base,
             std::string_view numbered)
      : numbered_(numbered),
        json_(arguments.json),
        merge_(arguments.merge ? std::make_unique<UrlsByKey>() : nullptr),
        canonical_(std::move(profile)),
        base_(std::move(base)) {}

  void take(std::uint64_t number, std::string_view text) {
    const auto parsed = Url::parse_into(text, base_ ? &*base_ : nullptr, url_);
    if (!parsed) return refuse(number, parsed.error().message);
    if (merge_ != nullptr) return merge(number);
    canonical_.key_into(url_, key_, fired_);
    if (json_) {
      print_json(number);
    } else {
      out_ << url_.href() << '\t' << key_ << '\t';
      if (fired_.empty()) out_ << '-';
      out_.names(fired_, ",") << '\n';
    }
  }

  void refuse(std::uint64_t number, std::string_view why) {
    say(stderr, "trawl: {} {}: {}\n", numbered_, number, why);
    refused_ = true;
  }

  Result<void> flush() { return out_.flush(); }
  Result<void> flush_if_full() { return out_.flush_if_full(); }

  // Returns the exit code.
  Result<int> finish() {
    if (merge_ != nullptr) {
      if (auto printed = merge_->print(out_, json_); !printed)
        return tl::unexpected(printed.error());
      say(stderr, "trawl: {} URLs, {} keys\n", merge_->lines(), merge_->keys());
    }
    if (auto written = out_.flush(); !written) return tl::unexpected(written.error());
    return refused_ ? kFailed : kDone;
  }

 private:
  void merge(std::uint64_t number) {
    merge_->add(number, url_.href(), [this]() -> std::string_view {
      canonical_.key_into(url_, key_);
      return key_;
    });
  }

  void print_json(std::uint64_t number) {
    out_ << "{\"line\":" << number << ",\"href\":";
    out_.json_string(url_.href()) << ",\"key\":";
    out_.json_string(key_) << ",\"rules\":[";
    if (!fired_.empty()) (out_ << '"').names(fired_, "\",\"") << '"';
    out_ << "],\"group\":";
    out_.json_string(politeness_group(url_)) << ",\"domain\":";
    out_.json_string(registrable_domain(url_.hostname())) << "}\n";
  }

  const std::string_view numbered_;
  const bool json_;
  const std::unique_ptr<UrlsByKey> merge_;
  const Canonicalizer canonical_;
  const std::optional<Url> base_;
  Url url_;
  std::string key_;
  RuleSet fired_;
  BufferedOutput out_;
  bool refused_ = false;
};

Result<int> normalize_arguments(const std::vector<std::string>& urls, Normalizer& normalizer) {
  std::uint64_t number = 0;
  for (const std::string& url : urls)
    normalizer.take(++number, url);
  return normalizer.finish();
}

Result<int> normalize_lines(Normalizer& normalizer) {
  NumberedLineReader lines(STDIN_FILENO);
  NumberedLineReader::Line line;
  while (true) {
    // Flushed before waiting for input, so that an interactive user sees the answer to each line.
    const auto written = lines.may_wait() ? normalizer.flush() : normalizer.flush_if_full();
    if (!written) return tl::unexpected(written.error());
    const auto more = lines.next(line);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return normalizer.finish();
    if (line.number == 1 && line.text.starts_with(kByteOrderMark))
      line.text.remove_prefix(kByteOrderMark.size());
    if (line.too_long) {
      normalizer.refuse(line.number,
                        fmt::format("longer than {} MiB", NumberedLineReader::kMaxLineBytes >> 20));
    } else if (!line.text.empty()) {
      normalizer.take(line.number, line.text);
    }
  }
}

int list_rules() {
  for (const RuleInfo& info : rule_infos()) {
    say("{}{}\n    {}\n    {} -> {}\n", info.name, info.enabled == nullptr ? " (always on)" : "",
        info.what, info.before, info.after);
    const auto names = default_names(info.rule);
    if (names.empty()) continue;
    std::string line = "    Names:";
    for (const std::string_view name : names) {
      if (line.size() + name.size() > 95) {
        say("{}\n", line);
        line = "          ";
      }
      line.append(" ").append(name);
    }
    say("{}\n", line);
  }
  return kDone;
}

int run_normalize(const NormalizeArguments& arguments) {
  if (arguments.list_rules) return list_rules();
  const bool from_lines = arguments.urls.empty() || arguments.urls == std::vector<std::string>{"-"};
  Normalizer normalizer(arguments, profile_of(arguments), base_of(arguments),
                        from_lines ? "line" : "URL");
  const auto exit_code =
      from_lines ? normalize_lines(normalizer) : normalize_arguments(arguments.urls, normalizer);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace

void add_normalize_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<NormalizeArguments>();
  auto* command = app.add_subcommand("normalize", "Print the canonical keys of URLs");
  command->add_option("URL", arguments->urls, "The URLs");
  command
      ->add_option_function<std::string>(
          "--rules",
          [arguments](const std::string& text) {
            arguments->rules.rules = split(text);
            check_rule_names("--rules", *arguments->rules.rules);
          },
          "Rules for keys, in addition to those that are always on")
      ->type_name("RULES");
  add_list(command, "--parameter-names", arguments->rules.parameter_names,
           "Parameters that drop_parameters drops");
  add_list(command, "--session-id-names", arguments->rules.session_id_names,
           "Session ids that drop_session_ids drops");
  add_list(command, "--index-names", arguments->rules.index_names,
           "File names that drop_index drops");
  command
      ->add_option_function<std::vector<std::string>>(
          "--host",
          [arguments](const std::vector<std::string>& texts) {
            for (const auto& text : texts)
              add_host(text, arguments->hosts);
          },
          "Rules for a host, or for .example.com and its subdomains; with a sign, changes to "
          "--rules")
      ->type_name("HOST=RULES")
      ->allow_extra_args(false);
  command->add_option("--base", arguments->base, "URL that relative URLs are resolved against")
      ->type_name("URL");
  command->add_flag("--json", arguments->json, "Print JSON, one object per line");
  command->add_flag("--merge", arguments->merge, "Print which lines have the same key");
  command->add_flag("--list-rules", arguments->list_rules, "Explain each rule");
  describe(command, help_of_normalize());
  command->callback([arguments, &exit_code] { exit_code = run_normalize(*arguments); });
}

}  // namespace trawl::cli
