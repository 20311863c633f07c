#include "trawl/shared_frontier.h"

#include <filesystem>
#include <utility>

#include "base/wall_time.h"
#include "frontier/shared/shared_options_checks.h"
#include "frontier/shared_frontier_impl.h"

namespace trawl {

namespace {

// The parts of a FrontierImpl see it as if it were embedded.
EmbeddedOptions options_of_parts(const SharedOptions& shared, const SharedConnection& connection) {
  EmbeddedOptions options;
  options.politeness = shared.politeness;
  options.retry = shared.retry;
  options.limits = shared.limits;
  options.seen = shared.seen;
  options.store = shared.store;
  options.testing = shared.testing;
  options.testing.ends_follow_links = true;
  if (!options.testing.clock)
    options.testing.clock = [] { return std::chrono::steady_clock::now(); };
  // Times that others read, of retries and blocks, are those of Redis' clocks.
  if (!options.testing.wall_clock) {
    options.testing.wall_clock = [ahead = connection.checks.clock_ahead] {
      return std::chrono::system_clock::now() + ahead;
    };
  }
  return options;
}

Result<std::optional<DirectoryLock>> lock(const std::filesystem::path& directory) {
  if (directory.empty()) return std::nullopt;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot create the directory " + directory.string()));
  }
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  return std::optional(*std::move(lock));
}

}  // namespace

Result<std::unique_ptr<SharedFrontier>> SharedFrontier::open(const SharedOptions& options,
                                                             OpenReport* report) {
  if (auto valid = check_options(options); !valid) return tl::unexpected(valid.error());
  auto locked = lock(options.directory);
  if (!locked) return tl::unexpected(locked.error());
  auto connection = connect_shared(options);
  if (!connection) return tl::unexpected(connection.error());
  const auto lost = std::make_shared<SharedFrontierImpl::Lost>();
  auto store = SharedStore::open(
      {.redis = connection->redis,
       .crawl = connection->keys.crawl(),
       .replicated = connection->replicated,
       .identity =
           UrlIdentity(connection->crawl.hash, options.seen.profile, connection->ownership.buckets),
       .page_limit = options.page_limit,
       .lost = [lost](BucketId bucket, const Error& error) { (*lost)(bucket, error); }});
  if (!store) return tl::unexpected(store.error());
  SharedFrontierImpl::Parts parts{.connection = std::move(*connection),
                                  .lock = std::move(*locked),
                                  .store = std::move(*store),
                                  .lost = lost};
  for (auto* client : {&parts.for_inboxes, &parts.for_control, &parts.for_end}) {
    auto connected = parts.connection.client();
    if (!connected) return tl::unexpected(connected.error());
    *client = *std::move(connected);
  }
  auto for_ownership = parts.connection.ownership_client();
  if (!for_ownership) return tl::unexpected(for_ownership.error());
  parts.for_ownership = *std::move(for_ownership);
  if (report != nullptr) {
    *report = {};
    report->resumed = !parts.connection.crawl.created;
    report->warnings = parts.connection.checks.warnings;
  }
  const EmbeddedOptions inner = options_of_parts(options, parts.connection);
  auto frontier = std::make_unique<SharedFrontierImpl>(inner, options, std::move(parts));
  frontier->begin();
  return frontier;
}

}  // namespace trawl
