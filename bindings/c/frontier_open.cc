// Opening, closing and releasing a frontier.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "trawl/embedded_frontier.h"
#include "trawl/memory_frontier.h"

#include "bindings/c/frontier_handle.h"
#include "bindings/c/profile_rules.h"

using namespace trawl;
using namespace trawl::c;

namespace {

std::chrono::milliseconds ms(std::int64_t count) {
  return std::chrono::milliseconds(count);
}

PolitenessOptions politeness_of(const trawl_frontier_options& given) {
  return {.delay = ms(given.delay_ms),
          .domain_delay = ms(given.domain_delay_ms),
          .ip_delay = ms(given.ip_delay_ms),
          .adaptive_delay = given.adaptive_delay,
          .max_adaptive_delay = ms(given.max_adaptive_delay_ms),
          .leases_per_host = given.leases_per_host};
}

RetryOptions retry_of(const trawl_frontier_options& given) {
  return {.retries = given.retries,
          .retry_delay = ms(given.retry_delay_ms),
          .max_retry_delay = ms(given.max_retry_delay_ms),
          .host_backoff = ms(given.host_backoff_ms),
          .max_host_backoff = ms(given.max_host_backoff_ms),
          .host_failures = given.host_failures,
          .park_time = ms(given.park_time_ms),
          .no_such_host_wait = ms(given.no_such_host_wait_ms)};
}

LimitOptions limits_of(const trawl_frontier_options& given) {
  return {.max_url_length = given.max_url_length,
          .max_note_bytes = given.max_note_bytes,
          .lease_timeout = ms(given.lease_timeout_ms),
          .max_open_leases = given.max_open_leases};
}

tl::expected<EmbeddedOptions, Failure> embedded_options(const trawl_frontier_options& given) {
  EmbeddedOptions options;
  const auto directory = path_of(given.directory, "options->directory");
  if (!directory) return tl::unexpected(directory.error());
  options.directory = std::filesystem::path(*directory);
  switch (given.mode) {
    case TRAWL_CREATE_OR_RESUME:
      options.mode = OpenMode::kCreateOrResume;
      break;
    case TRAWL_CREATE:
      options.mode = OpenMode::kCreate;
      break;
    case TRAWL_RESUME:
      options.mode = OpenMode::kResume;
      break;
    default:
      return invalid(
          "options->mode is unknown: use TRAWL_CREATE_OR_RESUME, TRAWL_CREATE or "
          "TRAWL_RESUME");
  }
  if (given.durability != TRAWL_ASYNC && given.durability != TRAWL_SYNC)
    return invalid("options->durability is unknown: use TRAWL_ASYNC or TRAWL_SYNC");
  auto profile = profile_of(given.rules, given.rule_count);
  if (!profile) return tl::unexpected(std::move(profile.error()));
  options.revive_hosts = given.revive_hosts != 0;
  options.politeness = politeness_of(given);
  options.retry = retry_of(given);
  options.limits = limits_of(given);
  options.seen = {.expected_urls = given.expected_urls,
                  .false_positive_rate = given.false_positive_rate,
                  .max_memory = given.max_filter_memory,
                  .mode = given.exact != 0 ? FilterMode::kExact : FilterMode::kBloom,
                  .ledger = given.ledger != 0 || given.exact != 0,
                  .profile = std::move(*profile),
                  .replace_profile = given.replace_rules != 0};
  options.store = {
      .max_memory = given.max_memory,
      .durability = given.durability == TRAWL_SYNC ? Durability::kSync : Durability::kAsync,
      .max_set_aside = given.max_set_aside,
      .shards = given.shards};
  options.checkpoints.keep = given.keep_checkpoints;
  options.checkpoints.interval = ms(given.checkpoint_interval_ms);
  options.checkpoints.admissions = given.checkpoint_admissions;
  options.checkpoints.max_rate = given.max_checkpoint_rate;
  return options;
}

Checked keep(Result<std::unique_ptr<Frontier>> opened, trawl_frontier** frontier) {
  if (!opened) return failure(std::move(opened.error()));
  auto handle = std::make_unique<trawl_frontier>();
  handle->frontier = std::move(*opened);
  *frontier = handle.release();
  return {};
}

}  // namespace

void trawl_frontier_options_init(trawl_frontier_options* options) {
  clear_struct(options);
  if (options == nullptr) return;
  const EmbeddedOptions defaults;
  options->mode = TRAWL_CREATE_OR_RESUME;
  options->durability = TRAWL_ASYNC;
  options->expected_urls = defaults.seen.expected_urls;
  options->false_positive_rate = defaults.seen.false_positive_rate;
  options->max_filter_memory = defaults.seen.max_memory;
  options->delay_ms = defaults.politeness.delay.count();
  options->domain_delay_ms = defaults.politeness.domain_delay.count();
  options->ip_delay_ms = defaults.politeness.ip_delay.count();
  options->adaptive_delay = defaults.politeness.adaptive_delay;
  options->max_adaptive_delay_ms = defaults.politeness.max_adaptive_delay.count();
  options->leases_per_host = defaults.politeness.leases_per_host;
  options->retries = defaults.retry.retries;
  options->retry_delay_ms = defaults.retry.retry_delay.count();
  options->max_retry_delay_ms = defaults.retry.max_retry_delay.count();
  options->host_backoff_ms = defaults.retry.host_backoff.count();
  options->max_host_backoff_ms = defaults.retry.max_host_backoff.count();
  options->park_time_ms = defaults.retry.park_time.count();
  options->no_such_host_wait_ms = defaults.retry.no_such_host_wait.count();
  options->host_failures = defaults.retry.host_failures;
  options->max_open_leases = defaults.limits.max_open_leases;
  options->lease_timeout_ms = defaults.limits.lease_timeout.count();
  options->max_url_length = defaults.limits.max_url_length;
  options->max_note_bytes = defaults.limits.max_note_bytes;
  options->max_memory = defaults.store.max_memory;
  options->max_set_aside = defaults.store.max_set_aside;
  options->shards = defaults.store.shards;
  options->keep_checkpoints = defaults.checkpoints.keep;
  options->checkpoint_interval_ms = defaults.checkpoints.interval.count();
  options->checkpoint_admissions = defaults.checkpoints.admissions;
  options->max_checkpoint_rate = defaults.checkpoints.max_rate;
}

trawl_status trawl_frontier_open(const trawl_frontier_options* options, trawl_frontier** frontier,
                                 trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(frontier, "frontier"); !given) return given;
    const auto given = read_struct(options, trawl_frontier_options_init, "options");
    if (!given) return tl::unexpected(given.error());
    const auto wanted = embedded_options(*given);
    if (!wanted) return tl::unexpected(wanted.error());
    return keep(EmbeddedFrontier::open(*wanted), frontier);
  });
}

trawl_status trawl_frontier_open_in_memory(const trawl_frontier_options* options,
                                           trawl_frontier** frontier, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(frontier, "frontier"); !given) return given;
    trawl_frontier_options defaults;
    trawl_frontier_options_init(&defaults);
    const auto given = read_struct(options == nullptr ? &defaults : options,
                                   trawl_frontier_options_init, "options");
    if (!given) return tl::unexpected(given.error());
    if (given->directory.size != 0)
      return invalid("options->directory is set: a frontier in memory has none");
    auto profile = profile_of(given->rules, given->rule_count);
    if (!profile) return tl::unexpected(std::move(profile.error()));
    MemoryOptions wanted;
    wanted.politeness = politeness_of(*given);
    wanted.retry = retry_of(*given);
    wanted.limits = limits_of(*given);
    wanted.profile = std::move(*profile);
    return keep(MemoryFrontier::create(wanted), frontier);
  });
}

trawl_status trawl_frontier_close(trawl_frontier* frontier, trawl_error** error) {
  return with_frontier(frontier, error, [](Frontier& opened) { return checked(opened.close()); });
}

void trawl_frontier_free(trawl_frontier* frontier) {
  if (frontier == nullptr) return;
  // A child has none of the frontier's threads, and its locks may be held: it leaves all alone.
  if (frontier->generation != fork_generation()) return;
  (void)guarded(nullptr, [&]() -> Checked {
    delete frontier;
    return {};
  });
}
