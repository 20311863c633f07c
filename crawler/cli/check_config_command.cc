// trawl check-config
#include <fmt/format.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/config_errors.h"
#include "crawler/config/config.h"

namespace trawl::cli {

int run_check_config(const std::string& file, const std::vector<std::string>& overrides) {
  const auto config = load_config(file, overrides);
  if (!config) return report_config_errors(config.error());
  fmt::print("{}: ok, {} seed{}\n", file, config->crawl.seeds.size(),
             config->crawl.seeds.size() == 1 ? "" : "s");
  return kDone;
}

}  // namespace trawl::cli
