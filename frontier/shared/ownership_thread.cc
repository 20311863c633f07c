#include "frontier/shared/ownership_thread.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

// Renewals and claims count when a replica has them, whatever the durability of the data.
OwnershipThread::OwnershipThread(std::unique_ptr<RedisClient> client, BucketKeys keys,
                                 BucketOwnership::Options options, Events events)
    : client_(std::move(client)),
      events_(std::move(events)),
      pace_(std::max(options.lease / 20, std::chrono::milliseconds(5))),
      store_(*client_, std::move(keys), true),
      ownership_(store_, options),
      troubles_(events_.trouble, events_.recovered, options.lease / 2) {
  assert(events_.gained && events_.lost && events_.to_release && events_.emptied &&
         events_.renewed && events_.trouble && events_.recovered && events_.failed);
}

void OwnershipThread::start() {
  const MutexLock lock(mutex_);
  assert(!thread_.joinable() && !stopping_);
  thread_ = std::thread([this] { run(); });
}

void OwnershipThread::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    thread = std::move(thread_);
  }
  assert(thread.get_id() != std::this_thread::get_id());
  if (thread.joinable()) thread.join();
  std::vector<Command> left;
  {
    const MutexLock lock(mutex_);
    left = std::exchange(commands_, {});
  }
  for (Command& command : left)
    command.done.set_value({.code = BucketStore::Written::Code::kFailed,
                            .error = Error{ErrorCode::kClosed, "the crawler has ended"}});
}

std::future<BucketStore::Written> OwnershipThread::release(BucketId bucket, std::string token) {
  return enqueue({.kind = Command::Kind::kRelease, .bucket = bucket, .token = std::move(token)});
}

void OwnershipThread::drop(BucketId bucket, std::string token) {
  enqueue({.kind = Command::Kind::kDrop, .bucket = bucket, .token = std::move(token)});
}

std::future<BucketStore::Written> OwnershipThread::leave() {
  return enqueue({.kind = Command::Kind::kLeave});
}

std::future<BucketStore::Written> OwnershipThread::enqueue(Command command) {
  auto done = command.done.get_future();
  const MutexLock lock(mutex_);
  if (stopping_) {
    command.done.set_value({.code = BucketStore::Written::Code::kFailed,
                            .error = Error{ErrorCode::kClosed, "the crawler has ended"}});
  } else {
    commands_.push_back(std::move(command));
    changed_.notify_all();
  }
  return done;
}

OwnershipThread::Status OwnershipThread::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

void OwnershipThread::run() {
  Clock::time_point next = Clock::now();
  MutexLock lock(mutex_);
  // Also what was asked for just before stop(): who stops may not wait for its releases.
  while (!stopping_ || !commands_.empty()) {
    const Clock::time_point now = Clock::now();
    if (!commands_.empty()) {
      std::vector<Command> commands = std::exchange(commands_, {});
      lock.unlock();
      execute(std::move(commands));
      note_status();
      lock.lock();
    } else if (has_failed_) {
      changed_.wait(mutex_);
    } else if (now >= next) {
      lock.unlock();
      step();
      note_status();
      // Some rest even if Redis is slow, so that the commands of other threads come through.
      next = std::max(now + pace_, Clock::now() + pace_ / 4);
      lock.lock();
    } else {
      changed_.wait_until(mutex_, next);
    }
  }
}

void OwnershipThread::step() {
  ownership_.set_idle(idle_.load(std::memory_order_relaxed));
  const auto events = ownership_.step();
  if (!events) {
    has_failed_ = true;
    ownership_.stop_starts();
    events_.failed(events.error());
    return;
  }
  pass_on(*events);
}

void OwnershipThread::pass_on(const BucketOwnership::Events& events) {
  const BootTime now = BootClock::now();
  for (const Error& error : events.troubles)
    troubles_.add(error, now);
  troubles_.look(now);
  counts_.lost += events.lost.size() + events.emptied.size();
  counts_.gained += events.gained.size();
  for (const BucketId bucket : events.lost)
    events_.lost(bucket);
  for (const BucketId bucket : events.emptied)
    events_.emptied(bucket);
  if (!events.renewed.empty()) events_.renewed(events.renewed);
  for (const BucketId bucket : events.to_release)
    events_.to_release(bucket);
  for (const auto& gained : events.gained)
    events_.gained(gained.bucket, ownership_.token(gained.bucket), gained.meta);
}

void OwnershipThread::execute(std::vector<Command> commands) {
  std::vector<Command*> releases;
  for (Command& command : commands) {
    const bool is_present =
        !command.token.empty() && ownership_.token(command.bucket) == command.token;
    if (command.kind == Command::Kind::kLeave) {
      command.done.set_value(ownership_.leave());
    } else if (!is_present) {
      command.done.set_value({.code = BucketStore::Written::Code::kFenced});
    } else if (command.kind == Command::Kind::kDrop) {
      ownership_.drop(command.bucket);
      ++counts_.dropped;
      command.done.set_value({.code = BucketStore::Written::Code::kDone});
    } else {
      releases.push_back(&command);
    }
  }
  if (!releases.empty()) release(std::move(releases));
}

void OwnershipThread::release(std::vector<Command*> releases) {
  std::vector<BucketId> buckets;
  for (const Command* command : releases)
    buckets.push_back(command->bucket);
  const auto written = ownership_.release(buckets);
  counts_.released += written.size();
  for (std::size_t i = 0; i < releases.size(); ++i)
    releases[i]->done.set_value(written[i]);
}

void OwnershipThread::note_status() {
  counts_.owned = ownership_.owned();
  counts_.living = ownership_.living();
  counts_.buckets.clear();
  for (const std::string& member : counts_.living)
    counts_.buckets.push_back(ownership_.buckets_of(member));
  counts_.has_trouble = troubles_.has_trouble();
  const MutexLock lock(mutex_);
  status_ = counts_;
}

}  // namespace trawl
