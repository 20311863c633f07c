// The keys of [output] and [log].
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/frontier.h"

#include "crawler/config/config_key_lists.h"
#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

using namespace std::chrono_literals;
using config_key::boolean;
using config_key::Word;

constexpr std::size_t kMaxInfoBytes = 1024;

constexpr std::array kLogLevels = {
    Word<std::string_view>{"trace", "trace"}, Word<std::string_view>{"debug", "debug"},
    Word<std::string_view>{"info", "info"},   Word<std::string_view>{"warn", "warn"},
    Word<std::string_view>{"error", "error"}, Word<std::string_view>{"off", "off"}};

constexpr std::array kDigests = {Word<DigestAlgorithm>{"auto", DigestAlgorithm::kAuto},
                                 Word<DigestAlgorithm>{"sha1", DigestAlgorithm::kSha1},
                                 Word<DigestAlgorithm>{"xxh128", DigestAlgorithm::kXxh128}};

// It becomes a part of file names.
bool is_prefix(std::string_view text) {
  return !text.empty() && text.size() <= 100 && !text.starts_with('.') && !text.starts_with('-') &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

ConfigKey prefix_key() {
  return config_key::scalar(
      "output.warc_prefix", "a string",
      "1 to 100 letters, digits, dots, hyphens and underscores, the first no dot or hyphen",
      TRAWL_FIELD(output.warc_prefix), "what the names of WARC files begin with",
      [](const toml::node& node, std::string&) -> std::optional<std::string> {
        const auto text = node.value_exact<std::string_view>();
        if (!text || !is_prefix(*text)) return std::nullopt;
        return std::string(*text);
      },
      [](const std::string& value) { return toml_string(value); });
}

void add_warc(std::vector<ConfigKey>& keys) {
  keys.push_back(boolean("output.warc", TRAWL_FIELD(output.warc),
                         "keep all that was sent and received in WARC files"));
  keys.push_back(boolean("output.cdxj", TRAWL_FIELD(output.cdxj),
                         "write an index (CDXJ) beside each WARC file"));
  keys.push_back(prefix_key());
  keys.push_back(config_key::size("output.warc_size", 1024, 1ull << 50,
                                  TRAWL_FIELD(output.warc_size),
                                  "a WARC file is closed, and the next one begun, when it has more "
                                  "bytes"));
  keys.push_back(config_key::duration("output.warc_time", 0ms, kMaxDelay,
                                      TRAWL_FIELD(output.warc_time),
                                      "the same when it is older; \"0s\" disables this"));
  keys.push_back(boolean("output.warc_metadata", TRAWL_FIELD(output.warc_metadata),
                         "write a metadata record for each page: how it was found, what it links "
                         "to"));
  keys.push_back(config_key::text("output.warc_operator", 0, kMaxInfoBytes,
                                  TRAWL_FIELD(output.warc_operator),
                                  "who crawls, for the warcinfo record"));
  keys.push_back(config_key::text("output.warc_description", 0, kMaxInfoBytes,
                                  TRAWL_FIELD(output.warc_description),
                                  "what the crawl is for, likewise"));
  keys.push_back(config_key::list("output.content_types", std::string(config_key::kMediaTypesType),
                                  "which pages are kept in WARC files; empty: all",
                                  TRAWL_FIELD(output.content_types), config_key::check_media_type,
                                  toml_string));
}

}  // namespace

void add_output_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(config_key::path("output.directory", TRAWL_FIELD(output.directory),
                                  "where all output goes; unset: `output` in the state "
                                  "directory"));
  keys.push_back(boolean("output.pages", TRAWL_FIELD(output.pages),
                         "write pages.jsonl: a line for each finished fetch"));
  keys.push_back(boolean("output.links", TRAWL_FIELD(output.links),
                         "write links.jsonl: a line for each link found"));
  keys.push_back(boolean("output.skipped", TRAWL_FIELD(output.skipped),
                         "write skipped.jsonl: a line for each URL not followed, with the reason"));
  keys.push_back(config_key::one_of(
      "output.digest", kDigests, TRAWL_FIELD(output.digest),
      "what bodies are compared by; \"auto\": sha1 with WARC files, or else xxh128, which takes a "
      "tenth of the time, but does not resist somebody who makes two bodies with the same digest"));
  add_warc(keys);
}

void add_log_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(config_key::one_of("log.level", kLogLevels, TRAWL_FIELD(log.level),
                                    "how much is logged: messages of this weight and heavier"));
  keys.push_back(config_key::path("log.file", TRAWL_FIELD(log.file),
                                  "a file to append the log to; unset: standard error"));
}

}  // namespace trawl
