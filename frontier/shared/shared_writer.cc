#include "frontier/shared/shared_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "frontier/shared/bucket_batch_maker.h"
#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/url_messages.h"

namespace trawl {

namespace {

// Bytes of messages in one command, unless one is larger.
constexpr std::size_t kMostOfACommand = 1u << 20;

}  // namespace

SharedWriter::SharedWriter(BucketStore& store, const UrlIdentity& identity, Options options)
    : store_(store),
      identity_(identity),
      lost_(options.lost),
      clock_(options.writer.clock),
      sent_(options.messages_kept, options.writer.max_bytes),
      writer_(store, writer_options(options)) {}

BucketWriter::Options SharedWriter::writer_options(Options& options) {
  BucketWriter::Options writer = std::move(options.writer);
  writer.waits = [this](std::string_view why) {
    const MutexLock lock(mutex_);
    waits_for_ = why;
  };
  return writer;
}

Result<void> SharedWriter::write(std::span<const Part> parts,
                                 std::span<const LinksForOwner> links) {
  const OneAtATime::Use use(writing_);
  Messages messages;
  std::vector<BucketWriter::Part> written;
  for (const LinksForOwner& one : links) {
    auto bodies = split_requests(one.requests);
    current_.messages += bodies.size();
    add_messages(one.bucket, std::move(bodies), messages);
  }
  for (const Part& part : parts) {
    if (is_written(part)) {
      written.push_back({.bucket = part.id, .batch = part.batch});
    } else {
      current_.passed_on += add_unowned(part, messages);
    }
  }
  add_behind(written);
  current_.repeated += add_taken_back(messages);
  auto done = deliver(written, std::move(messages));
  if (auto finished = finish(written); !finished && done) done = finished;
  publish_counts();
  return done;
}

// Whether the batch goes to Redis as one of its owner.
bool SharedWriter::is_written(const Part& part) {
  if (!part.bucket) return false;
  Written& written = written_[part.id];
  if (written.bucket != part.bucket) {
    written = {.bucket = part.bucket};
    writer_.begin(part.id, part.bucket->token, part.bucket->meta, part.bucket->hosts,
                  part.bucket->depths);
  }
  return !written.lost;
}

void SharedWriter::add_messages(BucketId bucket, std::vector<std::string> bodies,
                                Messages& messages) {
  BucketStore::Push push{.bucket = bucket, .messages = {}};
  std::size_t bytes = 0;
  const auto add_command = [&] {
    if (push.messages.empty()) return;
    messages.buckets.push_back(bucket);
    messages.commands.push_back(store_.encode(push));
    push.messages.clear();
    bytes = 0;
  };
  for (std::string& body : bodies) {
    if (bytes + body.size() > kMostOfACommand) add_command();
    bytes += body.size();
    push.messages.push_back({.id = ids_.next(), .body = std::move(body)});
  }
  add_command();
}

std::uint64_t SharedWriter::add_new_urls(BucketId bucket, const std::vector<NewUrls>& urls,
                                         Messages& messages) {
  std::vector<std::string> bodies;
  for (const NewUrls& some : urls)
    encode_new_urls(some, bucket, identity_, bodies);
  const std::uint64_t count = bodies.size();
  add_messages(bucket, std::move(bodies), messages);
  return count;
}

std::uint64_t SharedWriter::add_unowned(const Part& part, Messages& messages) {
  BucketHosts no_hosts;
  NotedDepths no_depths;
  auto batch = make_bucket_batch(*part.batch, no_hosts, no_depths);
  assert(batch);
  if (!batch) return 0;
  std::vector<NewUrls> urls;
  urls.push_back(take_new_urls(std::move(*batch)));
  return add_new_urls(part.id, urls, messages);
}

std::optional<SentMessages::Node> SharedWriter::node_of(BucketId bucket) const {
  const auto address = store_.node_of(bucket);
  if (!address) return std::nullopt;
  return SentMessages::Node{.address = *address, .breaks = store_.breaks(*address)};
}

std::uint64_t SharedWriter::add_taken_back(Messages& messages) {
  store_.look_for_nodes();
  auto moved = sent_.take_moved(clock_(), [this](BucketId bucket) { return node_of(bucket); });
  for (SentMessages::Message& message : moved) {
    messages.buckets.push_back(message.bucket);
    messages.commands.push_back(std::move(message.command));
  }
  return moved.size();
}

// A renewal may have been answered before batches that were acknowledged since: asks again, now
// that none is under way.
void SharedWriter::add_behind(std::vector<BucketWriter::Part>& parts) {
  std::map<BucketId, std::uint64_t> noted;
  {
    const MutexLock lock(mutex_);
    noted.swap(versions_);
  }
  std::vector<BucketId> asked;
  for (const auto& [id, version] : noted) {
    const auto written = written_.find(id);
    if (written == written_.end() || written->second.lost) continue;
    if (version < writer_.acknowledged(id)) asked.push_back(id);
  }
  if (asked.empty()) return;
  const auto owners = store_.owners(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const BucketId id = asked[i];
    if (!owners[i]) {
      note_version(id, noted[id]);  // later
      continue;
    }
    if (owners[i]->version >= writer_.acknowledged(id)) continue;
    writer_.note_version(id, owners[i]->version);
    const auto is_it = [id](const BucketWriter::Part& part) { return part.bucket == id; };
    if (std::ranges::none_of(parts, is_it)) parts.push_back({.bucket = id});
  }
}

Result<void> SharedWriter::deliver(std::span<BucketWriter::Part> parts, Messages messages) {
  for (const BucketId bucket : messages.buckets)
    sent_.expect(bucket, [this](BucketId id) { return node_of(id); });
  if (auto sent = writer_.write(parts, messages.commands); !sent) return sent;
  for (std::size_t i = 0; i < messages.commands.size(); ++i)
    sent_.add(messages.buckets[i], std::move(messages.commands[i]), clock_());
  return {};
}

// Passes on what is lost with buckets.
Result<void> SharedWriter::finish(std::span<BucketWriter::Part> parts) {
  Result<void> done;
  Messages messages;
  std::vector<BucketWriter::Part*> lost;
  for (BucketWriter::Part& part : parts) {
    Written& written = written_.at(part.bucket);
    if (part.result) {
      if (part.batch == nullptr) continue;
      if (auto changed = written.bucket->apply(*part.batch); !changed) done = changed;
    } else if (part.result.error().code == ErrorCode::kUnavailable) {
      done = tl::unexpected(part.result.error());
    } else {
      written.lost = true;
      lost.push_back(&part);
      current_.passed_on += add_new_urls(part.bucket, writer_.take_new_urls(part.bucket), messages);
    }
  }
  if (auto sent = deliver({}, std::move(messages)); !sent) done = sent;
  for (const BucketWriter::Part* part : lost)
    if (lost_) lost_(part->bucket, part->result.error());
  return done;
}

Result<void> SharedWriter::pass_on(BucketId bucket) {
  const OneAtATime::Use use(writing_);
  const auto written = written_.find(bucket);
  if (written == written_.end() || written->second.lost) return {};
  written->second.lost = true;
  Messages messages;
  current_.passed_on += add_new_urls(bucket, writer_.take_new_urls(bucket), messages);
  auto done = deliver({}, std::move(messages));
  publish_counts();
  return done;
}

void SharedWriter::end(BucketId bucket) {
  const OneAtATime::Use use(writing_);
  writer_.end(bucket);
  written_.erase(bucket);
  {
    const MutexLock lock(mutex_);
    versions_.erase(bucket);
  }
  publish_counts();
}

bool SharedWriter::is_lost(BucketId bucket) const {
  const auto written = written_.find(bucket);
  return written != written_.end() && written->second.lost;
}

void SharedWriter::note_version(BucketId bucket, std::uint64_t version) {
  const MutexLock lock(mutex_);
  versions_[bucket] = version;
}

void SharedWriter::publish_counts() {
  static_cast<BucketWriter::Counts&>(current_) = writer_.counts();
  const MutexLock lock(mutex_);
  counts_ = current_;
  bytes_ = writer_.bytes() + sent_.bytes();
}

std::string SharedWriter::waits_for() const {
  const MutexLock lock(mutex_);
  return waits_for_;
}

SharedWriter::Counts SharedWriter::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

std::uint64_t SharedWriter::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace trawl
