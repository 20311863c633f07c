#include "frontier/shared/inbox_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "trawl/clocks.h"

#include "frontier/shared/url_messages.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Buckets that are due so soon are looked at together.
constexpr milliseconds kTogether{10};
// Between two looks, whatever is due.
constexpr milliseconds kRest{5};
// Of those that wait for the owner of a bucket, at once.
constexpr std::size_t kMostCommands = 16;
constexpr milliseconds kBetweenSizes{1000};
constexpr milliseconds kQuiet{3000};

std::optional<MessageId> id_of(std::string_view element) {
  MessageId id;
  if (element.size() < id.size()) return std::nullopt;
  std::memcpy(id.data(), element.data(), id.size());
  return id;
}

std::string_view body_of(std::string_view element) {
  return element.substr(sizeof(MessageId));
}

}  // namespace

// What the Done functions change.
struct InboxReader::Shared {
  struct Bucket {
    std::uint64_t opened = 0;    // by which open()
    SteadyTime next_messages{};  // when to look for them
    SteadyTime next_commands{};
    milliseconds pause{0};
    bool messages_under_way = false;
    bool command_under_way = false;
    bool is_long = false;  // there are more messages than were read
    std::uint64_t messages = 0;
    std::uint64_t commands = 0;
    std::string head;  // of the inbox: the beginning of its first element
    SteadyTime head_since{};

    // When to look, unless what was found is still under way.
    SteadyTime messages_due(bool has_room) const {
      return messages_under_way || !has_room ? SteadyTime::max() : next_messages;
    }
    SteadyTime commands_due() const {
      return command_under_way ? SteadyTime::max() : next_commands;
    }
  };

  // The bucket, unless it was closed since.
  Bucket* find(BucketId id, std::uint64_t opened) TRAWL_REQUIRES(mutex) {
    const auto found = buckets.find(id);
    return found != buckets.end() && found->second.opened == opened ? &found->second : nullptr;
  }

  Mutex mutex;
  Condition changed;
  std::map<BucketId, Bucket> buckets TRAWL_GUARDED_BY(mutex);
  std::uint64_t opens TRAWL_GUARDED_BY(mutex) = 0;
  std::size_t bytes_under_way TRAWL_GUARDED_BY(mutex) = 0;
  Status counts TRAWL_GUARDED_BY(mutex);
  bool stopping TRAWL_GUARDED_BY(mutex) = false;
};

struct InboxReader::Read {
  // What is given, and what it points to.
  struct Given {
    std::vector<std::string> elements;
    std::size_t bytes = 0;
    std::vector<Message> messages;
    std::vector<std::pair<MessageId, OwnerCommand>> commands;
  };
  // Something between those that are given.
  struct Gap {
    std::size_t at;
    bool is_command;
    std::string element;
  };

  std::uint64_t opened = 0;
  BucketStore::Waiting waiting = {};
  bool has_failed = false;
  std::string head = {};
  std::size_t messages = 0, commands = 0;  // read
  std::shared_ptr<Given> given = std::make_shared<Given>();
  std::vector<Gap> gaps = {};

  void decode();
};

void InboxReader::Read::decode() {
  has_failed = !waiting.messages_read || !waiting.commands_read;
  if (has_failed) return;
  messages = waiting.messages_read->size();
  commands = waiting.commands_read->size();
  if (messages > 0) head = waiting.messages_read->front().substr(0, sizeof(MessageId));
  given->elements = std::move(*waiting.messages_read);
  for (const std::string& element : given->elements) {
    given->bytes += element.size();
    const auto id = id_of(element);
    auto content = id ? decode_requests(body_of(element)) : std::nullopt;
    if (content) {
      given->messages.push_back({.id = *id, .content = std::move(*content)});
    } else {
      gaps.push_back({.at = given->messages.size(), .is_command = false, .element = element});
    }
  }
  for (const std::string& element : *waiting.commands_read) {
    const auto id = id_of(element);
    auto command = id ? decode_owner_command(body_of(element)) : std::nullopt;
    if (command) {
      given->commands.emplace_back(*id, std::move(*command));
    } else {
      gaps.push_back({.at = given->commands.size(), .is_command = true, .element = element});
    }
  }
}

InboxReader::InboxReader(std::unique_ptr<RedisClient> client, BucketKeys keys, bool replicated,
                         Options options, Events events)
    : client_(std::move(client)),
      keys_(std::move(keys)),
      options_(options),
      events_(std::move(events)),
      store_(*client_, keys_, replicated),
      troubles_(events_.trouble, events_.recovered, kQuiet),
      shared_(std::make_shared<Shared>()) {
  assert(events_.take && events_.command && events_.damaged && events_.trouble &&
         events_.recovered);
  store_.set_patience(options_.patience);
}

void InboxReader::start() {
  assert(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
}

void InboxReader::stop() {
  {
    const MutexLock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void InboxReader::open(BucketId bucket) {
  const MutexLock lock(shared_->mutex);
  shared_->buckets.insert_or_assign(
      bucket, Shared::Bucket{.opened = ++shared_->opens, .pause = options_.soon, .head = {}});
  shared_->changed.notify_all();
}

void InboxReader::close(BucketId bucket) {
  const MutexLock lock(shared_->mutex);
  shared_->buckets.erase(bucket);
}

InboxReader::Status InboxReader::status() const {
  const SteadyTime now = Clock::now();
  const MutexLock lock(shared_->mutex);
  Status status = shared_->counts;
  for (const auto& [id, bucket] : shared_->buckets) {
    status.messages_waiting += bucket.messages;
    status.commands_waiting += bucket.commands;
    if (bucket.head.empty()) continue;
    const auto age = std::chrono::duration_cast<milliseconds>(now - bucket.head_since);
    if (status.slowest && age <= status.oldest) continue;
    status.oldest = age;
    status.slowest = id;
  }
  return status;
}

void InboxReader::run() {
  Shared& shared = *shared_;
  SteadyTime rests_until{};
  MutexLock lock(shared.mutex);
  while (!shared.stopping) {
    const bool has_room = shared.bytes_under_way < 2 * options_.max_bytes;
    SteadyTime next = SteadyTime::max();
    for (const auto& [id, bucket] : shared.buckets)
      next = std::min({next, bucket.messages_due(has_room), bucket.commands_due()});
    if (next == SteadyTime::max()) {
      shared.changed.wait(shared.mutex);
      continue;
    }
    const SteadyTime now = Clock::now();
    next = std::max(next, rests_until);
    if (now < next) {
      shared.changed.wait_until(shared.mutex, next);
      continue;
    }
    std::vector<Read> reads;
    for (const auto& [id, bucket] : shared.buckets) {
      const bool reads_messages = bucket.messages_due(has_room) <= now + kTogether;
      const bool reads_commands = bucket.commands_due() <= now + kTogether;
      if (!reads_messages && !reads_commands) continue;
      reads.push_back({.opened = bucket.opened,
                       .waiting = {.bucket = id,
                                   .messages = reads_messages ? 1u : 0u,
                                   .commands = reads_commands ? kMostCommands : 0}});
    }
    lock.unlock();
    const std::size_t most = options_.max_bytes / message_bytes_ / reads.size();
    for (Read& read : reads)
      read.waiting.messages *= std::clamp<std::size_t>(most, 1, options_.most_messages);
    look(reads);
    note_sizes();
    rests_until = Clock::now() + kRest;
    lock.lock();
    shared.counts.has_trouble = troubles_.has_trouble();
  }
}

void InboxReader::look(std::vector<Read>& reads) {
  std::vector<BucketStore::Waiting> waiting;
  for (const Read& read : reads)
    waiting.push_back(read.waiting);
  store_.read_waiting(waiting);
  std::size_t bytes = 0, messages = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    Read& read = reads[i];
    read.waiting = std::move(waiting[i]);
    for (const auto* one : {&read.waiting.messages_read, &read.waiting.commands_read})
      if (!*one) troubles_.add(one->error(), BootClock::now());
    read.decode();
    bytes += read.given->bytes;
    messages += read.messages;
  }
  if (messages > 0) message_bytes_ = (3 * message_bytes_ + bytes / messages) / 4 + 1;
  set_damaged_apart(reads);
  note(reads);
  for (Read& read : reads)
    give(read);
  troubles_.look(BootClock::now());
}

// What was not set apart ends what is given: it would not be at the head of its list when the batch
// takes what is behind it.
void InboxReader::set_damaged_apart(std::vector<Read>& reads) {
  std::vector<BucketStore::Damaged> damaged;
  for (const Read& read : reads)
    for (const Read::Gap& gap : read.gaps)
      damaged.push_back(
          {.bucket = read.waiting.bucket, .is_command = gap.is_command, .element = gap.element});
  if (damaged.empty()) return;
  const auto written = store_.set_apart(damaged);
  std::size_t i = 0, apart = 0;
  for (Read& read : reads) {
    for (const Read::Gap& gap : read.gaps) {
      const BucketStore::Written& result = written[i++];
      if (result.error) troubles_.add(*result.error, BootClock::now());
      if (result.code == BucketStore::Written::Code::kDone) {
        ++apart;
        const BucketId bucket = read.waiting.bucket;
        if (!reported_damaged_.insert(bucket).second) continue;
        events_.damaged(Error{
            ErrorCode::kCorrupt,
            fmt::format(
                "the key {} in Redis holds something that is not a {}, or is of another version of "
                "Trawl; it was moved to the key {}, and its contents are not crawled; use the same "
                "version for all crawlers of the crawl",
                gap.is_command ? keys_.commands(bucket) : keys_.inbox(bucket),
                gap.is_command ? "command" : "message with links", keys_.damaged(bucket))});
      } else if (gap.is_command) {
        read.given->commands.resize(std::min(read.given->commands.size(), gap.at));
      } else {
        read.given->messages.resize(std::min(read.given->messages.size(), gap.at));
      }
    }
  }
  const MutexLock lock(shared_->mutex);
  shared_->counts.damaged += apart;
}

void InboxReader::note(std::vector<Read>& reads) {
  const SteadyTime now = Clock::now();
  const MutexLock lock(shared_->mutex);
  for (Read& read : reads) {
    Shared::Bucket* const bucket = shared_->find(read.waiting.bucket, read.opened);
    if (bucket == nullptr) continue;
    if (read.has_failed) {
      bucket->next_messages = bucket->next_commands = now + options_.after_failure;
      continue;
    }
    if (read.waiting.commands > 0) {
      bucket->commands = read.commands;
      bucket->next_commands = now + options_.idle;
    }
    if (read.waiting.messages == 0) continue;
    bucket->pause = read.messages > 0 ? options_.soon : std::min(2 * bucket->pause, options_.idle);
    bucket->next_messages = now + bucket->pause;
    bucket->is_long = read.messages == read.waiting.messages;
    if (!bucket->is_long || bucket->messages < read.messages) bucket->messages = read.messages;
    if (bucket->head != read.head) bucket->head_since = now;
    bucket->head = read.head;
  }
}

void InboxReader::give(Read& read) {
  const BucketId id = read.waiting.bucket;
  const bool has_messages = !read.has_failed && !read.given->messages.empty();
  const bool has_command = !read.has_failed && !read.given->commands.empty();
  {
    const MutexLock lock(shared_->mutex);
    Shared::Bucket* const bucket = shared_->find(id, read.opened);
    if (bucket == nullptr || shared_->stopping) return;
    bucket->messages_under_way |= has_messages;
    bucket->command_under_way |= has_command;
    if (has_messages) shared_->bytes_under_way += read.given->bytes;
  }
  const auto done = [&](bool is_command) {
    return [shared = shared_, given = read.given, id, opened = read.opened, is_command,
            soon = options_.soon, idle = options_.idle](const Result<void>& result) {
      const MutexLock lock(shared->mutex);
      if (!is_command) shared->bytes_under_way -= given->bytes;
      if (result)
        (is_command ? shared->counts.commands_taken : shared->counts.messages_taken) +=
            is_command ? 1 : given->messages.size();
      shared->changed.notify_all();
      Shared::Bucket* const bucket = shared->find(id, opened);
      if (bucket == nullptr) return;
      const SteadyTime now = Clock::now();
      if (is_command) {
        bucket->command_under_way = false;
        bucket->next_commands = result ? now : now + idle;
      } else {
        bucket->messages_under_way = false;
        bucket->next_messages = !result ? now + idle : bucket->is_long ? now : now + soon;
      }
    };
  };
  if (has_messages) events_.take(id, read.given->messages, done(false));
  if (has_command) {
    const auto& [command_id, command] = read.given->commands.front();
    events_.command(id, command_id, command, done(true));
  }
}

// Of inboxes that are longer than what is read of them.
void InboxReader::note_sizes() {
  const BootTime now = BootClock::now();
  if (sized_ && now - *sized_ < kBetweenSizes) return;
  sized_ = now;
  std::vector<BucketId> ids;
  std::vector<std::uint64_t> opened;
  {
    const MutexLock lock(shared_->mutex);
    for (const auto& [id, bucket] : shared_->buckets) {
      if (!bucket.is_long) continue;
      ids.push_back(id);
      opened.push_back(bucket.opened);
    }
  }
  if (ids.empty()) return;
  const auto sizes = store_.inbox_sizes(ids);
  const MutexLock lock(shared_->mutex);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Shared::Bucket* const bucket = shared_->find(ids[i], opened[i]);
    if (bucket != nullptr && sizes[i]) bucket->messages = *sizes[i];
  }
}

}  // namespace trawl
