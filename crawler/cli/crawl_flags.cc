#include "crawler/cli/crawl_flags.h"

#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/config_reader.h"

namespace trawl::cli {

namespace {

struct CrawlFlag {
  const char* name;
  std::string_view key;
  std::string_view value;  // what the flag sets; empty: its argument
  const char* type;        // of the argument
  const char* text;
  std::string_view unit = {};  // of an argument without one
};

constexpr CrawlFlag kCrawlFlags[] = {
    {"--depth", "scope.max_depth", {}, "N", "How many links away from a seed a page may be"},
    {"--max-pages", "scope.max_pages", {}, "N", "End after this many pages"},
    {"--delay",
     "politeness.delay",
     {},
     "TIME",
     "Time between two requests to a host: 2s, 500ms; without a unit, seconds",
     "s"},
    {"--scope",
     "scope.type",
     {},
     "TYPE",
     "Which links are followed: page, prefix, host, domain or any"},
    {"--save", "output.files", "true", "", "Keep each page as a file, in folders by host and path"},
    {"--warc", "output.warc", "true", "", "Keep all that is sent and received in WARC files"},
    {"--user-agent",
     "crawl.user_agent",
     {},
     "TEXT",
     "Who you are: \"mybot/1.0 (+https://my.site/bot)\""},
    {"--allow-private", "fetch.allow_private_addresses", "true", "",
     "Also fetch from this machine and from private networks"},
};

std::string with_unit(const std::string& text, std::string_view unit) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  return plain ? fmt::format("{}{}", text, unit) : text;
}

// Returns "key=value" after a check of the value.
std::string assignment_of(const CrawlFlag& flag, const std::string& text) {
  const std::string value = with_unit(text, flag.unit);
  const ConfigKey* const key = find_config_key(flag.key);
  const std::string fault =
      key == nullptr ? "is not supported by this build" : fault_of_value(*key, value);
  if (!fault.empty()) throw CLI::ValidationError(flag.name, fault);
  return fmt::format("{}={}", flag.key, value);
}

}  // namespace

void add_crawl_flags(CLI::App* command, std::vector<std::string>& overrides) {
  for (const CrawlFlag& flag : kCrawlFlags) {
    if (!flag.value.empty()) {
      command->add_flag_callback(
          flag.name,
          [&flag, &overrides] {
            overrides.push_back(assignment_of(flag, std::string(flag.value)));
          },
          flag.text);
      continue;
    }
    command
        ->add_option_function<std::string>(
            flag.name,
            [&flag, &overrides](const std::string& text) {
              overrides.push_back(assignment_of(flag, text));
            },
            flag.text)
        ->type_name(flag.type);
  }
  command
      ->add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& assignments) {
            overrides.insert(overrides.end(), assignments.begin(), assignments.end());
          },
          "Override a config key, e.g. politeness.delay=2s; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace trawl::cli
