// SharedFrontierImpl: a FrontierImpl over the buckets that this crawler owns, and what brings them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trawl/shared_frontier.h"

#include "base/frontier_decorator.h"
#include "base/mutex.h"
#include "frontier/bucket_turnover.h"
#include "frontier/frontier_impl.h"
#include "frontier/shared/crawl_end.h"
#include "frontier/shared/inbox_reader.h"
#include "frontier/shared/owner_command.h"
#include "frontier/shared/ownership_thread.h"
#include "frontier/shared/shared_budget.h"
#include "frontier/shared/shared_connection.h"
#include "frontier/shared/shared_store.h"

namespace trawl {

// Threads: that of the ownership, which must never wait; that of the turnover, which loads and
// drains; that of the inboxes; the committer of the FrontierImpl; and one that looks for the end of
// the crawl. Each has a client of its own, so that none waits for another's pipeline.
class SharedFrontierImpl final : public FrontierDecorator<SharedFrontierImpl, SharedFrontier> {
 public:
  static Result<std::unique_ptr<SharedFrontierImpl>> open(const SharedOptions& options,
                                                          OpenReport& report);
  ~SharedFrontierImpl() override;

  Result<Progress> progress() const override;
  Result<FrontierStats> stats() const override;
  Result<void> set_host(std::string_view host, const HostSettings& settings) override;
  Result<std::uint64_t> drop_host(std::string_view host) override;
  Result<std::uint64_t> retry(const RetryWhich& which) override;
  Result<void> close() override;

  Result<ClusterStatus> cluster_status() const override;
  Result<std::uint64_t> take(SharedLimit of, std::uint64_t limit, std::uint64_t need) override;
  Result<void> give_back(SharedLimit of, std::uint64_t amount) override;
  Result<std::uint64_t> taken(SharedLimit of) override;

 private:
  friend FrontierDecorator<SharedFrontierImpl, SharedFrontier>;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }

  SharedFrontierImpl(std::unique_ptr<FrontierImpl> impl, SharedStore& store);
  // In this order, by open().
  Result<void> connect(const SharedOptions& options, SharedConnection connection);

  Result<void> load(BucketId bucket, const std::string& token, const BucketMeta& meta);
  Result<std::unique_ptr<Partition>> empty_partition() const;
  void retired(BucketId bucket);
  void take(BucketId bucket, std::span<const InboxReader::Message> messages,
            InboxReader::Done done);
  void execute(BucketId bucket, const MessageId& id, const OwnerCommand& command,
               InboxReader::Done done);
  Result<void> execute(const OwnerCommand& command);
  // Asks the owner of a bucket to execute a command.
  Result<void> ask(BucketId bucket, const OwnerCommand& command);
  SharedBudget& budget(SharedLimit of) TRAWL_REQUIRES(control_mutex_);

  FrontierImpl& impl_;  // which FrontierDecorator has
  SharedStore& store_;  // which impl_ has
};

}  // namespace trawl
