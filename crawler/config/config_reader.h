// ConfigReader: reads a CrawlConfig and all its errors from a document and overrides.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_config.h"

namespace trawl {

// What is wrong with the text of an override for the key; empty if nothing is.
std::string fault_of_value(const ConfigKey& key, std::string_view value);

// Call read_document, then read_override for each override, then finish.
class ConfigReader {
 public:
  // `file` names the document in errors.
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  void read_document(std::string_view toml);
  // "table.key=value".
  void read_override(std::string_view assignment);
  // Reads the seed file, and checks that depend on several keys.
  ConfigResult<CrawlConfig> finish();

 private:
  void read_table(const std::string& table, const toml::table& values);
  void read_value(const ConfigKey& key, const toml::node& value);
  void report_unknown_table(const toml::key& name, const toml::node& value);
  void require_state_dir();
  void read_seed_file();
  void add_seeds_with_settings();
  void require_seeds();
  void check_seed_lengths();
  void resolve_related_keys();

  void report(ConfigError error);
  void report_at(const toml::source_region& where, std::string message);
  // Reports an error where the key was set.
  void report_for(const std::string& key, std::string message);
  // Reports an error at the header of [table], if the document has it.
  void report_missing(const std::string& table, std::string message);
  bool failed(const std::string& key) const;

  std::string file_;
  std::string override_;  // the override being read, for errors; empty for the document
  toml::table document_;
  bool document_failed_ = false;
  CrawlConfig config_;
  std::set<std::string, std::less<>> failed_;  // keys and tables with errors
  // Keys that were set, each with its override, or empty if set in the document.
  std::map<std::string, std::string, std::less<>> given_;
  std::vector<ConfigError> errors_;
  std::size_t unlisted_errors_ = 0;
};

}  // namespace trawl
