#include "crawler/cli/control_target.h"

#include <system_error>
#include <utility>

#include "crawler/cli/crawl_input.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/state/state_contents.h"

namespace trawl::cli {

tl::expected<RunningCrawl, int> find_running_crawl(const std::string& target,
                                                   const std::string& program) {
  auto directory = CrawlInput::state_directory(target);
  if (!directory) return tl::unexpected(directory.error());
  auto client = ControlClient::connect(*directory);
  if (client) return RunningCrawl{std::move(*client), std::move(*directory)};
  const std::string trawl = quoted(program);
  std::error_code failure;
  if (!std::filesystem::exists(*directory, failure)) {
    say(stderr, "trawl: no crawl is running in {}, which does not exist\n", directory->string());
    say(stderr, "trawl: name the directory or the config of a crawl; to begin one: {} crawl URL\n",
        trawl);
    return tl::unexpected(static_cast<int>(kFailed));
  }
  const int code = report(client.error());
  if (client.error().code != ErrorCode::kNotFound) return tl::unexpected(code);
  const auto found = holds_crawl(*directory);
  if (found && *found) {
    say(stderr, "trawl: to continue the crawl: {} resume {}\n", trawl, quoted(target));
  } else {
    say(stderr, "trawl: the directory holds no crawl; to begin one: {} crawl URL\n", trawl);
  }
  return tl::unexpected(code);
}

}  // namespace trawl::cli
