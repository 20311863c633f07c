// A crawl from its start to its end; crawl_opening.cc opens it. start() runs one Fetcher per
// thread; they share a CrawlContext and nothing else.
//
// The caller polls ended() from one thread. It decides when nothing is left to do, and queues work
// that was put off until then: URLs of held origins, and URLs that may have crashed the crawl,
// which are fetched alone. close() drains in the order that keeps N3: the fetchers end, the output
// is written and synced, which completes the leases of its pages, and only then does the frontier
// write its last checkpoint.
#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/process_memory.h"
#include "crawler/config/config_values.h"
#include "crawler/decide/recrawl_plan.h"
#include "crawler/log/room_log.h"
#include "crawler/run/crawl_impl.h"
#include "crawler/run/retrying_frontier.h"

namespace trawl {

CrawlImpl::~CrawlImpl() {
  abort();
  join();
  // Their threads and callbacks use what follows.
  page_portions_.reset();
  byte_portions_.reset();
  if (settling_.valid()) settling_.wait();
  // Its writer completes leases, so it ends before the frontier does.
  output_.reset();
}

Result<std::uint64_t> CrawlImpl::retry_failed() {
  return frontier_->retry({.state = SetAsideState::kFailed});
}

void CrawlImpl::start() {
  started_ = std::chrono::steady_clock::now();
  // Not in open(): retry_failed() may have queued some of them in between. A shared frontier owns
  // nothing yet: see settles_buckets().
  const auto planned =
      is_shared() ? Result<std::uint64_t>(0) : plan_failed_urls(*frontier_, rules_->recrawl);
  if (!planned) return context_->stop_with(planned.error());
  if (*planned > 0) spdlog::info("{} failed URLs are scheduled to be fetched again", *planned);
  check_free_space();
  if (is_shared()) {
    page_portions_->start();
    byte_portions_->start();
  }
  // release: publishes what open() made; pairs with the acquire load in on_checkpoint().
  running_.store(true, std::memory_order_release);
  try {
    for (const auto& fetcher : fetchers_) {
      threads_.emplace_back([fetcher = fetcher.get()] {
        const AlternateSignalStack stack;
        fetcher->run();
      });
    }
  } catch (const std::system_error& error) {
    context_->stop_with({ErrorCode::kNoSpace,
                         fmt::format("cannot start {} fetcher threads: {}; lower fetch.threads",
                                     fetchers_.size(), error.code().message())});
  }
}

void CrawlImpl::on_end(std::function<void()> callback) {
  context_->on_end = std::move(callback);
}

bool CrawlImpl::ended() {
  thread_.check();
  check_free_space();
  sample_history();
  save_totals();
  context_->host_troubles.log_left_out();
  watch_cluster();
  const CrawlPhase phase = context_->phase();
  if (phase == CrawlPhase::kAborting) return true;
  // More may be offered meanwhile.
  if (phase == CrawlPhase::kRunning && (context_->paused() || steering_->is_reloading()))
    return false;
  const bool begins_more = phase == CrawlPhase::kRunning && !reached_max_pages();
  if (begins_more && (offers_held(false) || settles_buckets(nullptr))) return false;
  // acquire: what ended the leases is seen; pairs with the release in Fetcher::lease_ended().
  if (context_->in_flight.load(std::memory_order_acquire) > 0) return false;
  if (phase == CrawlPhase::kDraining) return true;
  if (reached_max_pages()) {
    // Not while others give back what they did not use.
    if (is_shared() && !page_portions_->end_if([this] { return reached_max_pages(); }))
      return false;
    context_->end_by(CrawlLimit::kPages);
    return true;
  }
  const Progress how_far = frontier_progress();
  if (!how_far.at_end() || offers_held(true) || settles_buckets(&how_far) || fetch_suspect())
    return false;
  if (how_far.only_recrawls_wait && !ends_before_recrawls(how_far)) return false;
  if (is_shared() && waits_for_totals(how_far)) return false;
  progress_at_end_ = how_far;
  return true;
}

EndReason CrawlImpl::why_ended() const {
  if (context_->failure()) return EndReason::kStopped;
  // What ended the crawl still counts if the frontier is out of reach by now.
  const Progress how_far = progress_at_end_ ? *progress_at_end_ : frontier_progress();
  if (how_far.finished) return EndReason::kFinished;
  if (reached_limit()) return EndReason::kLimit;
  if (context_->phase() != CrawlPhase::kRunning) return EndReason::kStopped;
  return ends_before_recrawls(how_far) ? EndReason::kRecrawlsWait : EndReason::kExhausted;
}

void CrawlImpl::request_checkpoint() {
  checkpoint_asked_for_.store(true, std::memory_order_relaxed);
  const auto asked = without_retries_->request_checkpoint();
  if (RetryingFrontier::is_out_of_reach(asked)) {
    room_log(LogRoom::kFrontier).warn("no checkpoint written: {}", asked.error().message);
  } else if (!asked) {
    context_->stop_with(asked.error());
  }
}

Result<void> CrawlImpl::close() {
  drain();
  limit_waits();
  join();
  warn_of_full_set_aside();
  if (auto offered = held_url_requeuer_->stop(); !offered) context_->stop_with(offered.error());
  if (settling_.valid()) {
    if (const auto settled = settling_.get(); !settled) context_->stop_with(settled.error());
  }
  // Writing a page completes its lease.
  if (auto written = output_->flush(); !written) context_->stop_with(written.error());
  // The frontier takes them only while it is open.
  auto closed = return_portions();
  if (auto ended = frontier_->close(); closed) closed = ended;
  wait_limit_.reset();
  if (auto saved = totals_->write(totals_now()); closed && !saved) closed = saved;
  if (auto saved = cookies_->save(config_.crawl.state_dir); closed && !saved) closed = saved;
  // After the last completion.
  if (auto written = output_->close(); closed && !written) closed = written;
  if (auto ended = crashes_->close(); closed && !ended) closed = ended;
  if (const auto failure = context_->failure()) return tl::unexpected(*failure);
  return closed;
}

CrawlProgress CrawlImpl::progress() const {
  CrawlProgress progress;
  progress.frontier = stats();
  progress.crawl = counters(progress.frontier);
  std::uint64_t done = progress.frontier.completed - progress.frontier.skipped;
  std::uint64_t done_now = done - (at_open_.completed - at_open_.skipped);
  // The buckets of a shared frontier come with what others fetched.
  if (is_shared()) {
    done = tally_->totals().lines;
    done_now = tally_->of_this_run().lines;
  }
  // Counted shortly before the completion, hence min() below.
  progress.truncated = totals_now().truncated;
  progress.fetched = done - std::min(done, progress.truncated);
  progress.fetched_now = done_now - std::min(done_now, fetches_.truncated());
  progress.in_flight = context_->in_flight.load(std::memory_order_relaxed);
  progress.bodies_memory = bodies_->used();
  const auto now = std::chrono::steady_clock::now();
  progress.elapsed = now - started_;
  progress.next_start = progress.frontier.next_turn;
  note_limits(progress, now);
  return progress;
}

std::map<std::string, std::uint64_t> CrawlImpl::skipped_in_all() const {
  auto skipped = stored_before_.skipped;
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    const auto reason = static_cast<SkipReason>(i);
    if (const auto n = skipped_[reason]; n > 0) skipped[std::string(to_string(reason))] += n;
  }
  return skipped;
}

bool CrawlImpl::ends_before_recrawls(const Progress& how_far) const {
  return !config_.recrawl.wait && how_far.only_recrawls_wait;
}

std::optional<CrawlLimit> CrawlImpl::reached_limit() const {
  if (const auto limit = context_->ended_by()) return limit;
  if (reached_max_pages()) return CrawlLimit::kPages;
  return limits_->reached(std::chrono::steady_clock::now());
}

std::optional<std::string> CrawlImpl::incomplete() const {
  const FrontierStats stats = this->stats();
  const FrontierCounters whole = counters(stats);
  const std::string example = context_->failed_fetch();
  const std::string first = example.empty() ? "" : fmt::format("; the first failure: {}", example);
  if (whole.succeeded == 0) return "no page was fetched with a status of 2xx" + first;
  if (has_parked_queue(stats)) {
    return fmt::format("{} host{} parked with URLs queued, {} in all{}", stats.hosts_parked,
                       stats.hosts_parked == 1 ? " is" : "s are", stats.queued, first);
  }
  if (const auto held = incomplete_origins()) return held;
  if (whole.seeds_succeeded == 0 && !seeds_.empty())
    return "no seed was fetched with a status of 2xx" + first;
  return std::nullopt;
}

bool CrawlImpl::has_parked_hosts() const {
  return has_parked_queue(stats()) || context_->held_origins.count() > 0;
}

Result<OfferReport> CrawlImpl::offer(std::span<const OfferedUrl> urls) {
  return steering_->offer(urls);
}

Result<ReloadReport> CrawlImpl::reload(const CrawlConfig& config) {
  return steering_->reload({.config = config, .saved = config});
}

Result<ReloadReport> CrawlImpl::reload() {
  if (!reread_) return error(ErrorCode::kInvalidArgument, "this crawl has no config to read again");
  const auto read = reread_();
  return read ? steering_->reload(*read) : tl::unexpected(read.error());
}

void CrawlImpl::with_rules(
    const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const {
  steering_->with_rules(use);
}

Result<std::vector<HostRow>> CrawlImpl::hosts(HostOrder order, std::size_t limit) const {
  return steering_->hosts(order, limit);
}

Result<void> CrawlImpl::set_host(const std::string& name, const HostSettings& settings) {
  return steering_->set_host(name, settings);
}

Result<void> CrawlImpl::block_host(const std::string& name, std::optional<SystemTime> until) {
  return steering_->block_host(name, until);
}

Result<void> CrawlImpl::unblock_host(const std::string& name) {
  return steering_->unblock_host(name);
}

Result<std::uint64_t> CrawlImpl::drop_host(const std::string& name) {
  return steering_->drop_host(name);
}

std::optional<CheckpointInfo> CrawlImpl::last_checkpoint() const {
  const MutexLock lock(last_stats_mutex_);
  return last_checkpoint_;
}

FrontierStats CrawlImpl::stats() const {
  auto stats = without_retries_->stats();
  const MutexLock lock(last_stats_mutex_);
  if (stats) last_stats_ = *std::move(stats);
  return last_stats_;
}

void CrawlImpl::note_limits(CrawlProgress& progress,
                            std::chrono::steady_clock::time_point now) const {
  const auto left = [](std::uint64_t limit, std::uint64_t used) {
    return limit - std::min(limit, used);
  };
  if (is_shared()) {
    progress.pages_left = page_portions_->left();
    progress.bytes_left = byte_portions_->left();
  }
  // Not from the config, which a reload may change at this moment.
  if (const auto most = pages_->limit(); most && !is_shared())
    progress.pages_left = left(*most, progress.fetched + progress.truncated);
  if (const auto most = limits_->max_bytes(); most && !is_shared())
    progress.bytes_left = left(*most, limits_->bytes());
  if (const auto end = limits_->end())
    progress.time_left = std::max(*end - now, std::chrono::steady_clock::duration{0});
}

Progress CrawlImpl::frontier_progress() const {
  const auto progress = frontier_->progress();
  return progress ? *progress : Progress{};
}

bool CrawlImpl::has_parked_queue(const FrontierStats& stats) {
  return stats.hosts_parked > 0 && stats.queued > 0;
}

std::optional<std::string> CrawlImpl::incomplete_origins() const {
  const std::size_t count = context_->held_origins.count();
  if (count == 0) return std::nullopt;
  const auto [origin, why] = context_->held_origins.example();
  const std::string others = count > 1 ? fmt::format(" and {} more", count - 1) : "";
  return scrubbed(fmt::format("the URLs of {}{} are held: {}", origin, others, why));
}

bool CrawlImpl::offers_held(bool idle) {
  const auto at_work = held_url_requeuer_->run_step(idle);
  if (!at_work) context_->stop_with(at_work.error());
  return at_work && *at_work;
}

bool CrawlImpl::fetch_suspect() {
  if (!crashes_->has_put_off()) return false;
  // Waits until every in-flight entry is removed; a completion may be durable before that.
  if (crashes_->in_flight() > 0) return true;
  // The calls below would wait for the frontier, and could not be interrupted.
  if (RetryingFrontier::is_out_of_reach(without_retries_->progress())) return true;
  const CrashLoopBreaker::Next next = crashes_->next_put_off();
  if (next.leased.empty()) return false;
  if (next.alone)
    spdlog::info("{}: fetching it alone, since it was in flight at two crashes",
                 next.leased.front());
  for (const std::string& url : next.leased) {
    const auto queued = frontier_->retry({.state = SetAsideState::kHeld,
                                          .key = url,
                                          .reason = std::string(CrashLoopBreaker::kSuspect)});
    if (queued) continue;
    context_->stop_with(queued.error());
    return false;
  }
  return true;
}

TallyTarget CrawlImpl::tally_target() {
  return {.tally = &*tally_, .save = [this](std::uint64_t offset) { store_tally(offset); }};
}

void CrawlImpl::store_tally(std::uint64_t offset) const {
  StoredTally stored{.tally = tally_->snapshot(),
                     .history = history_->samples(),
                     .history_interval = history_->interval(),
                     .skipped = skipped_in_all(),
                     .peak_memory = std::max(stored_before_.peak_memory, peak_memory()),
                     .elapsed_ms = stored_before_.elapsed_ms + run_ms()};
  stored.tally.offset = offset;
  if (const auto written = stored.write(config_.crawl.state_dir); !written)
    spdlog::warn("{}", written.error().message);
}

std::uint64_t CrawlImpl::run_ms() const {
  if (started_ == std::chrono::steady_clock::time_point{}) return 0;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now() - started_)
                                        .count());
}

void CrawlImpl::save_totals() {
  const auto now = std::chrono::steady_clock::now();
  if (!totals_due_.exchange(false, std::memory_order_relaxed) &&
      now - totals_saved_ < std::chrono::minutes(1)) {
    return;
  }
  totals_saved_ = now;
  warn_of_full_set_aside();
  if (const auto saved = totals_->write(totals_now()); !saved)
    spdlog::warn("{}", saved.error().message);
  if (const auto saved = cookies_->save(config_.crawl.state_dir); !saved)
    spdlog::warn("{}", saved.error().message);
}

void CrawlImpl::sample_history() {
  const auto now =
      std::chrono::time_point_cast<SystemTime::duration>(std::chrono::system_clock::now());
  if (!history_->is_due(now)) return;
  const CrawlProgress progress = this->progress();
  const TallyTotals totals = tally_->totals();
  history_->add({.time = now,
                 .pages = totals.lines,
                 .bytes = totals.bytes(),
                 .queued = progress.frontier.queued,
                 .seen = progress.frontier.seen,
                 .failed = totals.failed,
                 .in_flight = progress.in_flight,
                 .memory = resident_memory()});
}

void CrawlImpl::check_free_space() {
  if (context_->phase() != CrawlPhase::kRunning) return;
  switch (free_space_.check(std::chrono::steady_clock::now())) {
    case FreeSpaceGuard::Step::kNone:
      return;
    case FreeSpaceGuard::Step::kPause:
      context_->set_paused(PauseReason::kDiskFull, true);
      room_log(LogRoom::kOutput)
          .warn("{}: the crawl pauses until there is more, for {} at most", free_space_.what(),
                format_duration(config_.output.min_free_wait));
      return;
    case FreeSpaceGuard::Step::kGoOn:
      context_->set_paused(PauseReason::kDiskFull, false);
      room_log(LogRoom::kOutput).info("there is enough free space again: the crawl goes on");
      wake_all();
      return;
    case FreeSpaceGuard::Step::kGiveUp:
      context_->stop_with({ErrorCode::kNoSpace, free_space_.what()});
      return;
  }
}

void CrawlImpl::wake(std::uint32_t shard) {
  // Seeds are offered before the threads start; the threads look for work when they start.
  if (shard < fetchers_.size()) fetchers_[shard]->wake();
}

void CrawlImpl::advance_to(CrawlPhase phase) {
  if (!context_) return;
  context_->advance_to(phase);
  // Wakes all even if the phase was set before: the thread that set it may not have woken them.
  wake_all();
}

void CrawlImpl::wake_all() {
  for (const auto& fetcher : fetchers_)
    fetcher->wake();
}

void CrawlImpl::on_checkpoint(const CheckpointEvent& event) {
  const bool asked_for = checkpoint_asked_for_.exchange(false, std::memory_order_relaxed);
  // acquire: pairs with the store in start().
  const bool running = running_.load(std::memory_order_acquire);
  if (running) warn_of_full_set_aside();
  if (!event.written) {
    room_log(LogRoom::kFrontier)
        .info("no checkpoint written: no URL was queued since the last one");
  } else if (event.result) {
    note_checkpoint(event);
    totals_due_.store(true, std::memory_order_relaxed);
    room_log(LogRoom::kFrontier)
        .log(asked_for ? spdlog::level::info : spdlog::level::debug,
             "checkpoint published in {:.3f} s", std::chrono::duration<double>(event.took).count());
  } else if (running) {
    context_->stop_with(event.result.error());
  } else {
    spdlog::warn("{}", event.result.error().message);  // fatal only if a later one fails too
  }
}

void CrawlImpl::note_checkpoint(const CheckpointEvent& event) {
  const MutexLock lock(last_stats_mutex_);
  last_checkpoint_ = {.ended = std::chrono::system_clock::now(),
                      .took = std::chrono::duration_cast<std::chrono::milliseconds>(event.took)};
}

CrawlTotals::Totals CrawlImpl::totals_now() const {
  return {.bytes = limits_->bytes(), .truncated = before_.truncated + fetches_.truncated()};
}

void CrawlImpl::warn_of_full_set_aside() {
  if (set_aside_full_.load(std::memory_order_relaxed) ||
      stats().not_set_aside == at_open_.not_set_aside) {
    return;
  }
  set_aside_full_.store(true, std::memory_order_relaxed);
  spdlog::warn(
      "frontier.max_set_aside = {} is reached: further failed or excluded URLs are counted, but "
      "not kept for a later run",
      config_.frontier.max_set_aside);
}

void CrawlImpl::join() {
  for (auto& thread : threads_)
    thread.join();
  threads_.clear();
}

}  // namespace trawl
