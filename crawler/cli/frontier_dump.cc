// trawl frontier dump
#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include <unistd.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_line.h"
#include "crawler/cli/frontier_redis.h"
#include "crawler/config/redis_place.h"
#include "frontier/shared/shared_dump.h"

namespace trawl::cli {

namespace {

// Buffers lines for standard output.
class DumpOutput {
 public:
  Result<void> add(const DumpedUrl& url) {
    append_frontier_line(url, text_);
    return text_.size() < kMuch ? Result<void>() : flush();
  }

  Result<void> flush() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int error = errno;
        closed_ = error == EPIPE;
        return tl::unexpected(system_error(error, "cannot write standard output"));
      }
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    text_.clear();
    return {};
  }

  // True once the reader of the pipe has closed it.
  bool closed() const { return closed_; }

 private:
  static constexpr std::size_t kMuch = 64 << 10;
  std::string text_;
  bool closed_ = false;
};

}  // namespace

int run_frontier_dump(const FrontierDumpArguments& arguments) {
  DumpOutput output;
  const auto& states = arguments.states;
  DumpOptions options{.host = arguments.host};
  if (states.size() == 1) options.state = states.front();
  const auto add = [&](const DumpedUrl& url) -> Result<void> {
    const bool wanted = states.empty() || std::ranges::find(states, url.state) != states.end();
    return wanted ? output.add(url) : Result<void>();
  };
  Result<void> dumped;
  if (is_redis_url(arguments.state_dir)) {
    const auto crawl = open_shared_crawl({arguments.state_dir}, arguments.redis);
    if (!crawl) return crawl.error();
    dumped = dump_shared_crawl(**crawl, options, add);
  } else {
    dumped = dump_frontier(arguments.state_dir, options, add);
  }
  // URLs read before an error are printed.
  const auto written = output.closed() ? Result<void>() : output.flush();
  if (output.closed()) return kFailed;
  if (!dumped) return report(dumped.error());
  return written ? kDone : report(written.error());
}

}  // namespace trawl::cli
