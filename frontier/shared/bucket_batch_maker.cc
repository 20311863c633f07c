#include "frontier/shared/bucket_batch_maker.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "frontier/store/store_records.h"

namespace trawl {

namespace {

class BucketBatchMaker final : public StoreChanges {
 public:
  BucketBatchMaker(BucketHosts& hosts, NotedDepths& depths) : hosts_(hosts), depths_(depths) {}

  void add_pending(HostId host, const QueueOrder& order, std::string_view record) override {
    queue(host, order.priority).added.push_back(encode_queued(order.sequence, record));
    note(host, hosts_.add_url(host, order.priority));
  }
  void remove_pending(HostId host, const QueueOrder& order) override {
    queue(host, order.priority).ended.push_back(order.sequence);
    note(host, hosts_.remove_url(host, order.priority));
  }
  void add_deferred(const DeferredUrl& url) override { batch_.deferred.push_back(url); }
  void remove_deferred(const DeferredUrl& url) override {
    batch_.no_longer_deferred.push_back(url);
  }
  void log_admissions(std::uint64_t, std::span<const Fingerprint> fingerprints) override {
    for (const Fingerprint fingerprint : fingerprints)
      batch_.admitted.push_back(fingerprint.low);
  }
  void set_host(HostId host, const HostRecord& record) override {
    note(host, hosts_.set_record(host, record));
  }
  void remove_host(HostId host) override { note(host, hosts_.remove_record(host)); }
  void set_aside(Fingerprint fingerprint, std::string_view value) override {
    batch_.set_aside.emplace_back(fingerprint.low, std::string(value));
  }
  void remove_set_aside(Fingerprint fingerprint) override {
    batch_.set_aside.emplace_back(fingerprint.low, std::nullopt);
  }
  void lower_depth(Fingerprint fingerprint, std::uint32_t depth) override {
    if (depths_.lower(fingerprint, depth)) noted_.insert(fingerprint);
  }
  void forget_depth(Fingerprint fingerprint) override {
    if (depths_.forget(fingerprint)) noted_.insert(fingerprint);
  }
  void set_counters(const Counters& counters) override {
    batch_.meta.counters = encode_counters(counters);
    batch_.meta.next_sequence = counters.sequence;
    batch_.meta.open = counters.open();
  }
  void count_admitted(HostId host, std::string_view name) override {
    hosts_.count_admitted(host, name);
    note(host, true);
  }
  void take_message(const MessageId& message) override { batch_.taken.push_back(message); }
  void take_command(const MessageId& command) override { batch_.commands_taken.push_back(command); }

  BucketBatch take() {
    for (const HostId host : changed_)
      batch_.hosts.emplace_back(host, hosts_.take_value(host));
    for (const Fingerprint fingerprint : noted_)
      batch_.depths.emplace_back(fingerprint, depths_.find(fingerprint));
    return std::move(batch_);
  }

 private:
  BucketBatch::Queue& queue(HostId host, std::int32_t priority) {
    const auto [at, added] = queues_.try_emplace({host, priority}, batch_.queues.size());
    if (added) batch_.queues.push_back({.host = host, .priority = priority});
    return batch_.queues[at->second];
  }
  void note(HostId host, bool changed) {
    if (changed) changed_.insert(host);
  }

  BucketHosts& hosts_;
  NotedDepths& depths_;
  BucketBatch batch_;
  std::map<std::pair<HostId, std::int32_t>, std::size_t> queues_;
  std::set<HostId> changed_;
  std::set<Fingerprint> noted_;
};

}  // namespace

Result<BucketBatch> make_bucket_batch(const StoreBatch& batch, BucketHosts& hosts,
                                      NotedDepths& depths) {
  BucketBatchMaker maker(hosts, depths);
  if (auto visited = batch.visit(maker); !visited) return tl::unexpected(visited.error());
  return maker.take();
}

}  // namespace trawl
