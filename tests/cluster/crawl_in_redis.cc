#include "tests/cluster/crawl_in_redis.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "frontier/store/store_records.h"

namespace trawl::test {

namespace {

using Code = BucketStore::Written::Code;

void expect_done(const BucketStore::Written& written) {
  if (written.code == Code::kDone) return;
  throw std::runtime_error(written.error ? written.error->message : "another owner");
}

}  // namespace

CrawlInRedis::CrawlInRedis(RedisClient& client, const std::string& name, BucketId buckets)
    : keys_(name), store_(client, keys_, true) {
  const Profile profile;
  const auto joined = join_crawl(client, keys_,
                                 {.buckets = buckets,
                                  .profile = profile.name(),
                                  .expected_urls = 1000,
                                  .delay = std::chrono::milliseconds(1500)});
  if (!joined) throw std::runtime_error(joined.error().message);
  identity_.emplace(joined->hash, profile, buckets);
}

CrawlInRedis::Content& CrawlInRedis::admit(const UrlRecord& url, HostId& host) {
  host = identity_->host(queue_of(url));
  Content& content = contents_[identity_->bucket_of(host)];
  content.batch.admitted.push_back(identity_->of(url).value().low);
  ++content.counters.admitted;
  ++content.batch.meta.next_sequence;
  return content;
}

void CrawlInRedis::queue(const UrlRecord& url, std::int32_t priority) {
  HostId host = 0;
  Content& content = admit(url, host);
  content.queues[{host, priority}].push_back(
      encode_queued(content.batch.meta.next_sequence, encode_record(url)));
  auto& priorities = content.hosts[host].priorities;
  if (std::ranges::find(priorities, priority) == priorities.end()) priorities.push_back(priority);
}

void CrawlInRedis::defer(const UrlRecord& url, std::int64_t not_before, std::int32_t priority) {
  HostId host = 0;
  Content& content = admit(url, host);
  ++content.counters.deferred;
  content.batch.deferred.push_back({.not_before = not_before,
                                    .sequence = content.batch.meta.next_sequence,
                                    .host = host,
                                    .priority = priority,
                                    .record = encode_record(url)});
}

void CrawlInRedis::set_aside(const UrlRecord& url, SetAsideRecord record) {
  HostId host = 0;
  Content& content = admit(url, host);
  const std::string bytes = encode_record(url);
  record.url_record = bytes;
  content.batch.set_aside.emplace_back(identity_->of(url).value().low, encode_set_aside(record));
  ++content.counters.completed;
  const bool is_held = record.state == SetAsideState::kHeld;
  ++(is_held ? content.counters.held : content.counters.set_aside_failed);
  ++(is_held ? content.counters.skipped : content.counters.failed);
}

void CrawlInRedis::set_host(const HostRecord& host) {
  const HostId id = identity_->host(host.name);
  contents_[identity_->bucket_of(id)].hosts[id].record = host;
}

void CrawlInRedis::write(bool releases) {
  for (auto& [bucket, content] : contents_) {
    if (content.token.empty()) {
      content.token = std::string(kSession) + "." + std::to_string(bucket);
      const auto owner = store_.owners(std::span(&bucket, 1));
      if (!owner[0]) throw std::runtime_error(owner[0].error().message);
      const BucketStore::Claim claim{.bucket = bucket, .seen = *owner[0], .token = content.token};
      const auto claimed = store_.claim(std::span(&claim, 1));
      expect_done(claimed[0].result);
      content.version = claimed[0].meta.version;
    }
    BucketBatch& batch = content.batch;
    for (auto& [queue, added] : content.queues)
      batch.queues.push_back(
          {.host = queue.first, .priority = queue.second, .added = std::exchange(added, {})});
    batch.hosts.assign(content.hosts.begin(), content.hosts.end());
    batch.meta.counters = encode_counters(content.counters);
    batch.meta.open = content.counters.open();
    const RedisCommand command = store_.encode(bucket, content.token, ++content.version, batch);
    expect_done(store_.apply(std::span(&command, 1))[0]);
    const BucketMeta meta = batch.meta;
    batch = {};
    batch.meta = meta;
    content.queues.clear();
    if (!releases) continue;
    const BucketStore::Release release{.bucket = bucket, .token = content.token};
    expect_done(store_.release(std::span(&release, 1))[0]);
    content.token.clear();
  }
}

void CrawlInRedis::beat(const std::string& name, const std::string& session, std::uint64_t beat,
                        std::uint64_t buckets) {
  expect_done(
      store_.set_member(name, {.record = {.session = session, .beat = beat, .buckets = buckets},
                               .replaces = std::nullopt}));
}

}  // namespace trawl::test
