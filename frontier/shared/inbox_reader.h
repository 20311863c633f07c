// InboxReader: reads what other crawlers have for the owner of buckets, on a thread of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "frontier/redis/redis_client.h"
#include "frontier/shared/boot_clock.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/owner_command.h"
#include "frontier/shared/trouble_report.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// The owner takes messages and commands off their lists by its batches (StoreBatch::take_message(),
// take_command()); until then they stay there, and are read again after a restart. The buckets that
// are due are read in one pipeline: soon again where messages came, less often where none come.
//
// What cannot be decoded is set apart, in the bucket's key `w`, and what is behind it goes on.
// Thread-safe: no call waits for Redis.
class InboxReader {
 public:
  struct Message {
    MessageId id;
    UrlMessage content;
  };
  // To be called once, by any thread, also inside of the event: when the batch that takes what was
  // given is durable, or with an error if there will be none: then the same is given again, if the
  // bucket is still open. May outlive the reader.
  using Done = std::function<void(const Result<void>&)>;

  // Called on the thread, one at a time, and never while something of the same kind is under way
  // for that bucket. They may call everything but stop(). One may still come just after a close().
  // Each is needed.
  struct Events {
    // In the order in which they must be taken. All that is passed is valid until `done` is called.
    std::function<void(BucketId, std::span<const Message>, Done done)> take;
    std::function<void(BucketId, const MessageId&, const OwnerCommand&, Done done)> command;
    // Something in an inbox was set apart; the error names the keys. Once for each bucket.
    std::function<void(const Error&)> damaged;
    std::function<void(const Error&)> trouble;  // as in TroubleReport
    std::function<void()> recovered;
  };
  struct Options {
    // Between two looks for messages of a bucket: `soon` after some came, unless there are more;
    // doubled up to `idle` while none come. `idle` also between two looks for commands, unless one
    // was executed, and after a batch that failed.
    std::chrono::milliseconds soon{20};
    std::chrono::milliseconds idle{250};
    // Of a bucket that could not be read.
    std::chrono::milliseconds after_failure{1000};
    std::chrono::milliseconds patience{500};  // of a look
    std::size_t most_messages = 256;          // of a bucket, at once
    std::size_t max_bytes = 16u << 20;        // about, of all messages read at once
  };
  struct Status {
    std::uint64_t messages_waiting = 0;  // of the open buckets, as last seen
    std::uint64_t commands_waiting = 0;
    // How long the first message of a bucket has been there, as seen by this reader; the longest.
    std::chrono::milliseconds oldest{0};
    std::optional<BucketId> slowest;  // which bucket that is
    std::uint64_t messages_taken = 0;
    std::uint64_t commands_taken = 0;
    std::uint64_t damaged = 0;
    bool has_trouble = false;
  };

  // `client` is its alone. `replicated` as for BucketStore.
  InboxReader(std::unique_ptr<RedisClient> client, BucketKeys keys, bool replicated,
              Options options, Events events);
  ~InboxReader() { stop(); }

  void start();  // once
  // Returns when no event is called any more. Not from an event.
  void stop();

  // The bucket is owned, and loaded.
  void open(BucketId bucket);
  void close(BucketId bucket);

  Status status() const;

 private:
  struct Shared;  // with the Done functions
  struct Read;    // of a bucket, while it is looked at

  void run();
  void look(std::vector<Read>& reads);
  void set_damaged_apart(std::vector<Read>& reads);
  void note(std::vector<Read>& reads);
  void give(Read& read);
  void note_sizes();

  const std::unique_ptr<RedisClient> client_;
  const BucketKeys keys_;
  const Options options_;
  const Events events_;
  // Used by the thread alone.
  BucketStore store_;
  TroubleReport troubles_;
  std::set<BucketId> reported_damaged_;
  std::size_t message_bytes_ = 1024;  // about
  std::optional<BootTime> sized_;

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace trawl
