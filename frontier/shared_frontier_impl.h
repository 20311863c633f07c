// SharedFrontierImpl: a FrontierImpl over the buckets that this crawler owns, and what brings them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "trawl/shared_frontier.h"

#include "base/frontier_decorator.h"
#include "base/mutex.h"
#include "frontier/bucket_turnover.h"
#include "frontier/foreign_starts.h"
#include "frontier/frontier_impl.h"
#include "frontier/recovery/directory_lock.h"
#include "frontier/shared/address_turns.h"
#include "frontier/shared/crawl_end.h"
#include "frontier/shared/inbox_reader.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/owner_command.h"
#include "frontier/shared/ownership_thread.h"
#include "frontier/shared/queue_depths_reader.h"
#include "frontier/shared/shared_budget.h"
#include "frontier/shared/shared_connection.h"
#include "frontier/shared/shared_store.h"

namespace trawl {

// Threads: that of the ownership, which must never wait; that of the turnover, which loads and
// drains; that of the inboxes; the committer of the FrontierImpl; and one that looks for the end of
// the crawl. Each has a client of its own, so that none waits for another's pipeline.
class SharedFrontierImpl final : public FrontierDecorator<SharedFrontierImpl, SharedFrontier> {
 public:
  // Called by the store when a bucket is lost; set by the constructor, before the store is used.
  using Lost = std::function<void(BucketId, const Error&)>;
  struct Parts {
    SharedConnection connection;
    std::optional<DirectoryLock> lock;
    std::unique_ptr<SharedStore> store;
    std::shared_ptr<Lost> lost;  // what the store calls
    // Clients of their own.
    std::unique_ptr<RedisClient> for_ownership = {}, for_inboxes = {}, for_control = {},
                                 for_end = {};
  };
  SharedFrontierImpl(const EmbeddedOptions& options, const SharedOptions& shared, Parts parts);
  ~SharedFrontierImpl() override;
  // Begins to claim buckets.
  void begin();

  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override;
  Result<void> set_politeness(const PolitenessOptions& politeness,
                              const RetryOptions& retry) override;
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override;
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override;
  Result<void> set_host(std::string_view host, const HostSettings& settings) override;
  Result<std::uint64_t> drop_host(std::string_view host) override;
  Result<std::uint64_t> retry(const RetryWhich& which) override;
  Result<FrontierStats> stats() const override;
  Result<Progress> progress() const override;
  Result<void> close() override;

  bool may_send(const StartTurn& turn) const noexcept override;
  Result<ClusterStatus> cluster_status() const override;
  std::string waits_for() const override;
  void stop_waiting() override;
  Result<std::uint64_t> take(SharedLimit of, std::uint64_t limit, std::uint64_t need) override;
  Result<void> give_back(SharedLimit of, std::uint64_t amount) override;
  Result<std::uint64_t> taken(SharedLimit of) override;

 private:
  friend FrontierDecorator<SharedFrontierImpl, SharedFrontier>;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  SharedFrontierImpl(const EmbeddedOptions& options, const SharedOptions& shared, Parts& parts,
                     SharedStore& store);
  std::unique_ptr<FrontierImpl> make_impl(const EmbeddedOptions& options,
                                          const SharedOptions& shared, Parts& parts);
  OwnershipThread::Events ownership_events();
  BucketTurnover::Calls turnover_calls();
  InboxReader::Events inbox_events();

  Result<void> load(BucketId bucket, const std::string& token, const BucketMeta& meta);
  void add_waiting(BucketId bucket);
  void count_urls(const LoadedHost& host);
  void retired(BucketId bucket);
  void take_messages(BucketId bucket, std::span<const InboxReader::Message> messages,
                     InboxReader::Done done);
  void take_message(BucketId bucket, const InboxReader::Message& message, InboxReader::Done done);
  void execute(BucketId bucket, const MessageId& id, const OwnerCommand& command,
               InboxReader::Done done);
  Result<void> execute(BucketId bucket, const OwnerCommand& command);
  Result<StartTurn> in_turn_of_address(StartTurn turn, std::string_view address);
  // Asks the owner of a bucket to execute a command.
  Result<void> ask(BucketId bucket, const OwnerCommand& command);
  Result<Progress> progress_of_all(const Progress& own) const;
  ClusterStatus status_now() const TRAWL_REQUIRES(watching_);
  void watch();
  // Whether this process had nothing to do.
  Result<void> read_totals();
  Result<bool> look_for_the_end();
  // What it saw meanwhile; nothing if this process has something to do.
  Result<std::optional<CrawlEnd::Scan>> tell_idle(std::uint64_t commit);
  // Whether this process has nothing to do, as of that commit.
  bool is_idle_at(std::uint64_t commit) const;
  SharedBudget& budget(SharedLimit of) TRAWL_REQUIRES(control_) {
    return of == SharedLimit::kPages ? pages_ : bytes_;
  }

  const EmbeddedOptions options_;
  const std::function<void(const Error&)> report_;
  const BucketId buckets_;
  const bool replicated_;
  const std::string member_;
  HostUrlLimit* const url_limit_;  // null: none
  std::atomic<std::uint64_t> over_limit_{0};
  FrontierImpl& impl_;  // which the base has
  SharedStore& store_;  // which impl_ has
  std::optional<DirectoryLock> lock_;

  mutable Mutex control_;  // one call at a time waits for Redis
  const std::unique_ptr<RedisClient> control_client_;
  BucketStore control_store_ TRAWL_GUARDED_BY(control_);
  MessageIds command_ids_ TRAWL_GUARDED_BY(control_);
  SharedBudget pages_ TRAWL_GUARDED_BY(control_);
  SharedBudget bytes_ TRAWL_GUARDED_BY(control_);
  AddressTurns turns_ TRAWL_GUARDED_BY(control_);
  std::atomic<std::chrono::milliseconds> ip_delay_;  // over all crawlers; 0: each its own
  ForeignStarts foreign_starts_;

  OwnershipThread ownership_;
  InboxReader inbox_;
  QueueDepthsReader queue_depths_;
  BucketTurnover turnover_;

  const std::unique_ptr<RedisClient> end_client_;
  // Of the watcher alone.
  BucketStore end_store_;
  CrawlEnd end_;
  mutable Mutex watching_;
  Condition watched_;
  bool stops_ TRAWL_GUARDED_BY(watching_) = false;
  struct End {
    Progress progress;
    std::uint64_t commit = 0;  // FrontierImpl::commit_number() then
  };
  std::optional<End> end_seen_ TRAWL_GUARDED_BY(watching_);
  FrontierCounters totals_ TRAWL_GUARDED_BY(watching_);
  bool closed_ TRAWL_GUARDED_BY(watching_) = false;
  Result<void> close_result_ TRAWL_GUARDED_BY(watching_);
  // As close() found or left them.
  std::optional<ClusterStatus> last_status_ TRAWL_GUARDED_BY(watching_);
  std::optional<FrontierStats> last_stats_ TRAWL_GUARDED_BY(watching_);
  Progress last_progress_ TRAWL_GUARDED_BY(watching_);
  std::thread watcher_;
};

}  // namespace trawl
