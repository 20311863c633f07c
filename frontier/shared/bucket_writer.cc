// A pipeline has the batches of each bucket in order, from the first that is not acknowledged. A
// batch that was not executed, for whatever reason, makes those after it answer that it is missing;
// the next pipeline begins with it. So all ways of losing a batch end in one: sending again from
// the number that Redis has.
#include "frontier/shared/bucket_writer.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/bucket_batch_maker.h"

namespace trawl {

namespace {

using Code = BucketStore::Written::Code;

// A key of fingerprints is not appended to once it has this size.
constexpr std::uint64_t kSegmentBytes = 1u << 20;
// Batches in one pipeline, when many are sent again.
constexpr std::size_t kSentAtOnce = 64;

// Another program's data is where a message goes, until somebody removes it.
bool is_in_the_way(const BucketStore::Written& push) {
  return push.code == Code::kFailed && push.error && push.error->code == ErrorCode::kCorrupt;
}

}  // namespace

void BucketWriter::begin(BucketId id, std::string token, const BucketMeta& meta,
                         std::shared_ptr<BucketHosts> hosts, std::shared_ptr<NotedDepths> depths) {
  end(id);
  Bucket& bucket = buckets_[id];
  bucket.token = std::move(token);
  bucket.last = bucket.done = meta.version;
  bucket.segment = meta.segment;
  bucket.hosts = std::move(hosts);
  bucket.depths = std::move(depths);
}

void BucketWriter::end(BucketId id) {
  const auto bucket = buckets_.find(id);
  if (bucket == buckets_.end()) return;
  while (!bucket->second.kept.empty())
    forget_first(bucket->second);
  buckets_.erase(bucket);
}

Result<void> BucketWriter::add(BucketId id, Bucket& bucket, const StoreBatch& changes) {
  auto batch = make_bucket_batch(changes, *bucket.hosts, *bucket.depths);
  if (!batch) return tl::unexpected(batch.error());
  const std::uint64_t bytes = batch->admitted.size() * sizeof(std::uint64_t);
  if (bucket.segment_bytes > 0 && bucket.segment_bytes + bytes > kSegmentBytes) {
    ++bucket.segment;
    bucket.segment_bytes = 0;
  }
  bucket.segment_bytes += bytes;
  batch->meta.segment = bucket.segment;
  const std::uint64_t number = ++bucket.last;
  RedisCommand command = store_.encode(id, bucket.token, number, *batch);
  NewUrls urls = trawl::take_new_urls(std::move(*batch));
  const std::uint64_t kept = command.bytes() + urls.bytes();
  bucket.kept.push_back({.number = number,
                         .command = std::move(command),
                         .at = options_.clock(),
                         .urls = std::move(urls),
                         .bytes = kept});
  bytes_ += kept;
  return {};
}

Result<void> BucketWriter::write(std::span<Part> parts, std::span<const RedisCommand> pushes) {
  std::vector<Bucket*> buckets;
  for (Part& part : parts) {
    const auto found = buckets_.find(part.bucket);
    assert(found != buckets_.end());
    Bucket& bucket = found->second;
    if (!bucket.lost && part.batch != nullptr) {
      if (auto added = add(part.bucket, bucket, *part.batch); !added) bucket.lost = added.error();
    }
    buckets.push_back(&bucket);
  }
  auto pushed = send(buckets, pushes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (buckets[i]->lost) {
      parts[i].result = tl::unexpected(*buckets[i]->lost);
    } else {
      parts[i].result = {};
      counts_.batches += parts[i].batch != nullptr ? 1 : 0;
    }
    forget_old(*buckets[i]);
  }
  return pushed;
}

std::uint64_t BucketWriter::acknowledged(BucketId id) const {
  const auto found = buckets_.find(id);
  return found == buckets_.end() ? 0 : found->second.done;
}

void BucketWriter::note_version(BucketId id, std::uint64_t version) {
  const auto found = buckets_.find(id);
  assert(found != buckets_.end());
  Bucket& bucket = found->second;
  if (version < bucket.done)
    settle(bucket, bucket.last, {.code = Code::kBehind, .version = version});
}

Result<void> BucketWriter::check(BucketId id, std::uint64_t version) {
  note_version(id, version);
  Part part{.bucket = id};
  if (auto sent = write(std::span(&part, 1)); !sent) return sent;
  return part.result;
}

std::vector<NewUrls> BucketWriter::take_new_urls(BucketId id) {
  std::vector<NewUrls> urls;
  const auto found = buckets_.find(id);
  if (found == buckets_.end()) return urls;
  for (Sent& batch : found->second.kept)
    if (!batch.urls.empty()) urls.push_back(std::exchange(batch.urls, {}));
  return urls;
}

Error BucketWriter::give_up(std::span<Bucket*> buckets, const std::string& why) const {
  const Error error{ErrorCode::kUnavailable, fmt::format("Redis cannot be written to: {}", why)};
  for (Bucket* bucket : buckets)
    if (!bucket->lost && bucket->done < bucket->last) bucket->lost = error;
  return error;
}

Result<void> BucketWriter::send(std::span<Bucket*> buckets, std::span<const RedisCommand> pushes) {
  std::vector<bool> pushed(pushes.size());
  std::size_t left = pushes.size();
  std::optional<Error> refused;
  for (std::string waits_for;;) {
    if (!waits_for.empty()) {
      if (options_.waits) options_.waits(waits_for);
      if (options_.gives_up && options_.gives_up())
        return tl::unexpected(give_up(buckets, waits_for));
      std::this_thread::sleep_for(options_.pause);
    }
    std::vector<RedisCommand> commands;
    std::vector<std::pair<Bucket*, std::uint64_t>> sent;
    for (Bucket* bucket : buckets) {
      if (bucket->lost || bucket->done == bucket->last) continue;
      const std::size_t first = bucket->done + 1 - bucket->kept.front().number;
      const std::size_t end = std::min(bucket->kept.size(), first + kSentAtOnce);
      for (std::size_t at = first; at < end; ++at) {
        const Sent& batch = bucket->kept[at];
        commands.push_back(batch.command);
        sent.emplace_back(bucket, batch.number);
      }
    }
    std::vector<std::size_t> sent_pushes;
    for (std::size_t i = 0; left > 0 && i < pushes.size(); ++i) {
      if (pushed[i]) continue;
      commands.push_back(pushes[i]);
      sent_pushes.push_back(i);
    }
    if (commands.empty()) break;
    const auto written = store_.apply(commands);
    const bool waited = !waits_for.empty();
    waits_for.clear();
    for (std::size_t i = 0; i < written.size(); ++i) {
      const BucketStore::Written& one = written[i];
      bool again = one.code == Code::kFull || one.code == Code::kUnknown;
      if (i < sent.size()) {
        again = settle(*sent[i].first, sent[i].second, one);
      } else if (again = again || is_in_the_way(one); !again) {
        pushed[sent_pushes[i - sent.size()]] = true;
        --left;
        if (one.code == Code::kFailed && !refused) refused = one.error;
      }
      if (again && waits_for.empty())
        waits_for = one.error && !one.error->message.empty()
                        ? one.error->message
                        : "no replica has acknowledged what was written";
    }
    if (waited && waits_for.empty() && options_.waits) options_.waits({});
  }
  return refused ? Result<void>(tl::unexpected(*refused)) : Result<void>{};
}

bool BucketWriter::settle(Bucket& bucket, std::uint64_t number,
                          const BucketStore::Written& written) {
  if (bucket.lost) return false;
  switch (written.code) {
    case Code::kDone:
      // Only if it follows: an answer to a batch before it may still say that more is missing.
      if (number == bucket.done + 1) bucket.done = number;
      counts_.missing += written.missing;
      return false;
    case Code::kBehind: {
      const bool taken_back = written.version < bucket.done;
      if (!taken_back) return false;
      if (bucket.kept.empty() || bucket.kept.front().number > written.version + 1) {
        bucket.lost = Error{ErrorCode::kCorrupt,
                            fmt::format("a failover of Redis took back more than is kept: batches "
                                        "from {} to {}",
                                        written.version + 1, bucket.done)};
        return false;
      }
      counts_.replayed += bucket.done - written.version;
      bucket.done = written.version;
      return false;
    }
    case Code::kFenced:
      bucket.lost = Error{ErrorCode::kInUse, "another crawler owns the bucket now"};
      return false;
    case Code::kFull:
    case Code::kUnknown:
      return true;
    case Code::kFailed:
      bucket.lost = written.error.value_or(Error{ErrorCode::kIo, "Redis refuses a batch"});
      return false;
  }
  return false;
}

void BucketWriter::forget_first(Bucket& bucket) {
  bytes_ -= bucket.kept.front().bytes;
  bucket.kept.pop_front();
}

void BucketWriter::forget_old(Bucket& bucket) {
  const SteadyTime old = options_.clock() - options_.kept;
  while (!bucket.kept.empty() && bucket.kept.front().number <= bucket.done &&
         (bucket.kept.front().at <= old || bytes_ > options_.max_bytes))
    forget_first(bucket);
}

}  // namespace trawl
