// trawl init
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

struct InitKey {
  std::string_view name;
  std::string_view comment;
  std::string_view example;  // shown commented out if the key has its default; empty: always set
};

// What most crawls set first; docs/config.md has the other keys.
constexpr InitKey kInitKeys[] = {
    {"crawl.seeds", "where the crawl starts", {}},
    {"crawl.state_dir", "state and output of the crawl; `trawl resume` continues from it", {}},
    {"crawl.user_agent", "say who you are, so that site owners can reach you",
     "\"mybot/1.0 (+https://example.org/mybot)\""},
    {"scope.type", "links that are followed: page, prefix, host, domain or any", {}},
    {"scope.exclude", "URLs that are not", "[\"*/calendar/*\", \"*.iso\"]"},
    {"scope.max_depth", "links away from a seed", "5"},
    {"scope.max_pages", "then the crawl ends", "1000"},
    {"politeness.delay", "between two requests to a host", {}},
    {"fetch.allow_private_addresses", "for servers of your own, on a private address", "true"},
    {"output.files", "keep each page as a file, in folders by host and path", "true"},
    {"output.warc", "keep all that is sent and received in WARC files", "true"},
};

std::string value_of(const ConfigKey& key, const CrawlConfig& config) {
  // As typed: a path would be written as absolute.
  if (key.name == "crawl.state_dir") return toml_string(config.crawl.state_dir.string());
  return key.write(config);
}

// A key of the list above, or one that was set with --set; else nothing.
std::string lines_of(const ConfigKey& key, const CrawlConfig& config) {
  static const CrawlConfig kDefaults;
  const std::string value = value_of(key, config);
  const bool is_default = value == key.write(kDefaults);
  const auto* const found = std::ranges::find(kInitKeys, key.name, &InitKey::name);
  if (found == std::end(kInitKeys)) {
    return is_default || value.empty() ? "" : fmt::format("{} = {}\n", key.leaf(), value);
  }
  const bool shown_only = is_default && !found->example.empty();
  return fmt::format("# {}\n{}{} = {}\n", found->comment, shown_only ? "# " : "", key.leaf(),
                     shown_only ? found->example : std::string_view(value));
}

std::string short_config(const CrawlConfig& config) {
  std::string text = fmt::format(
      "# A crawl of {}. Save this as a file, for example crawl.toml, then:\n"
      "#\n"
      "#     trawl check-config crawl.toml    finds mistakes\n"
      "#     trawl crawl crawl.toml           begins; stop it with ^C\n"
      "#     trawl resume crawl.toml          goes on\n"
      "#\n"
      "# docs/config.md has every key.\n",
      escape_unsafe(config.crawl.seeds.front()));
  std::string_view table;
  for (const ConfigKey& key : config_keys()) {
    const std::string lines = lines_of(key, config);
    if (!lines.empty() && key.table() != table) {
      table = key.table();
      text += fmt::format("\n[{}]\n", table);
    }
    text += lines;
  }
  return text;
}

}  // namespace

int run_init(const CrawlArguments& arguments) {
  const auto input =
      CrawlInput::of_new_crawl(arguments.inputs, arguments.directory, arguments.overrides);
  if (!input) return input.error();
  const std::string text = short_config(input->config());
  const auto written = write_all(STDOUT_FILENO, text, "standard output");
  return written ? kDone : report(written.error());
}

}  // namespace trawl::cli
