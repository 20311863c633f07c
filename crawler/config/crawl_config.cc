#include "crawler/config/crawl_config.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/text_file.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/config_reader.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxConfigBytes = 16u << 20;

}  // namespace

std::string ConfigError::to_string() const {
  std::string place = file;
  if (line > 0) place += fmt::format(":{}", line);
  if (column > 0) place += fmt::format(":{}", column);
  // Escaped, so that text quoted from a config cannot control a terminal.
  return escape_unsafe(fmt::format("{}: {}", place, message));
}

ConfigResult<CrawlConfig> load_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides) {
  const auto text = read_text_file(file, kMaxConfigBytes);
  if (!text) {
    return tl::unexpected(
        std::vector{ConfigError{file.string(), 0, 0, "the config file " + text.error()}});
  }
  return parse_config(*text, file.string(), overrides);
}

ConfigResult<CrawlConfig> parse_config(std::string_view toml, const std::string& name,
                                       const std::vector<std::string>& overrides) {
  ConfigReader reader(name);
  reader.read_document(toml);
  for (const std::string& assignment : overrides)
    reader.read_override(assignment);
  return reader.finish();
}

std::string to_toml(const CrawlConfig& config) {
  std::string out;
  std::string_view table;
  for (const ConfigKey& key : config_keys()) {
    if (key.table() != table) {
      table = key.table();
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", table);
    }
    const std::string value = key.write(config);
    if (!value.empty()) out += fmt::format("{} = {}\n", key.leaf(), value);
  }
  return out;
}

}  // namespace trawl
