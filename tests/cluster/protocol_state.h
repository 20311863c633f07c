// The state of the protocol model: one bucket in Redis, the network, and three crawlers.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "tests/cluster/state_set.h"

namespace trawl::test {

inline constexpr std::size_t kCrawlers = 3;
inline constexpr std::size_t kMaxTokens = 3;
inline constexpr std::size_t kMaxRenewals = 4;
inline constexpr std::size_t kMaxBatches = 4;
inline constexpr std::size_t kMaxMessages = 2;
inline constexpr std::size_t kMaxInbox = 3;

using Byte = std::uint8_t;

// What Redis holds of a bucket. Tokens, names of renewals, batches and messages are numbered; a
// number of 0 is none.
struct Bucket {
  Byte token = 0;
  Byte renewal = 0;   // 0 after a claim: with its token it is a name used once
  Byte version = 0;   // number of the last batch applied
  Byte applied = 0;   // bit b - 1: batch b
  Byte admitted = 0;  // bit m - 1: message m is in the fingerprints and in the queue
  std::array<Byte, kMaxInbox> inbox{};

  std::size_t inbox_size() const {
    return static_cast<std::size_t>(std::ranges::find(inbox, 0) - inbox.begin());
  }
  bool in_inbox(unsigned message) const { return std::ranges::count(inbox, message) != 0; }
  bool has_admitted(unsigned message) const { return (admitted >> (message - 1) & 1) != 0; }
  bool has(unsigned message) const { return has_admitted(message) || in_inbox(message); }
  bool operator==(const Bucket&) const = default;
};

// A batch of an owner, as it was sent. It stays in the network: it may arrive again at any time.
struct BatchMessage {
  Byte token = 0;
  Byte number = 0;
  Byte admits = 0;                // bit m - 1
  std::array<Byte, 2> drained{};  // the messages it takes off the inbox, in order
  bool was_applied = false;
  bool done = false;  // it can change nothing any more
  bool admits_message(unsigned message) const { return (admits >> (message - 1) & 1) != 0; }
};

// A CLAIM or RELEASE under way, and what the claim compares with.
struct Token {
  bool claim_under_way = false;
  bool release_under_way = false;
  Byte seen_token = 0;
  Byte seen_renewal = 0;
};

struct Renewal {
  bool under_way = false;
  Byte token = 0;
};

// How a crawler that found a message keeps it.
enum class Kept : Byte {
  kNot,
  kPushes,        // until the push is acknowledged
  kInOwnBatch,    // it owned the bucket
  kAcknowledged,  // without WAIT for data: until a failover can no longer take it back
};

// A claim or renewal that a crawler waits for.
enum class Answer : Byte {
  kNone,
  kExecuted,    // on the master; a failover will take it back
  kReplicated,  // a WAIT after it succeeds
};

struct Crawler {
  bool alive = true;
  Byte owns = 0;      // its token
  Byte claiming = 0;  // the token of the claim whose answer it waits for
  Answer claim = Answer::kNone;
  Byte renewing = 0;  // likewise
  Answer renewal = Answer::kNone;
  Byte since_sent = 0;  // ticks of its clock since it sent the claim or renewal
  Byte may_start = 0;   // ticks of its clock until the deadline
  Byte rest = 0;        // ticks of its clock until it may ask the host
  Byte seen_token = 0;
  Byte seen_renewal = 0;
  Byte seen_for = 0;  // ticks of its clock since it saw these two first
  Byte last_batch = 0;
  Byte seen = 0;  // its filter: bit m - 1
  std::array<Kept, kMaxMessages> kept{};
};

// What has become of a message.
enum class Fate : Byte {
  kNotFound,
  kKept,  // by a crawler
  kOwed,  // Redis must have it
  kVoid,  // its finder died before the page that it is on ended: the page is fetched again
};

struct State {
  Bucket master;
  // Whether the replica gets no more writes: what it has is what the next failover brings back.
  // Until then the replica has what the master has, so WAIT succeeds: a replica that is behind and
  // catches up is a crawler that waits.
  bool cut = false;
  Bucket replica;
  std::array<Token, kMaxTokens> tokens{};
  std::array<Renewal, kMaxRenewals> renewals{};
  std::array<BatchMessage, kMaxBatches> batches{};
  std::array<Fate, kMaxMessages> fates{};
  std::array<Crawler, kCrawlers> crawlers{};
  // How many there have been.
  Byte claims = 0, renewed = 0, batched = 0, pushes = 0, failovers = 0, deaths = 0,
       missed_ticks = 0;
  Byte since_start = 0;  // ticks of an ideal clock since the last request to the host
};

// Packing. `codec(field, bits)` reads or writes each field once.
template <class Codec>
void code_bucket(Bucket& bucket, Codec& codec) {
  codec(bucket.token, 2);
  codec(bucket.renewal, 3);
  codec(bucket.version, 3);
  codec(bucket.applied, kMaxBatches);
  codec(bucket.admitted, kMaxMessages);
  for (Byte& message : bucket.inbox)
    codec(message, 2);
}

template <class Codec>
void code_crawler(Crawler& crawler, Codec& codec) {
  codec(crawler.alive, 1);
  codec(crawler.owns, 2);
  codec(crawler.claiming, 2);
  codec(crawler.claim, 2);
  codec(crawler.renewing, 3);
  codec(crawler.renewal, 2);
  codec(crawler.since_sent, 2);
  codec(crawler.may_start, 2);
  codec(crawler.rest, 2);
  codec(crawler.seen_token, 2);
  codec(crawler.seen_renewal, 3);
  codec(crawler.seen_for, 2);
  codec(crawler.last_batch, 3);
  codec(crawler.seen, kMaxMessages);
  for (Kept& kept : crawler.kept)
    codec(kept, 2);
}

template <class Codec>
void code_shared(State& state, Codec& codec) {
  code_bucket(state.master, codec);
  codec(state.cut, 1);
  if (state.cut) code_bucket(state.replica, codec);
  for (Token& token : state.tokens) {
    codec(token.claim_under_way, 1);
    codec(token.release_under_way, 1);
    codec(token.seen_token, 2);
    codec(token.seen_renewal, 3);
  }
  for (Renewal& renewal : state.renewals) {
    codec(renewal.under_way, 1);
    codec(renewal.token, 2);
  }
  for (BatchMessage& batch : state.batches) {
    codec(batch.token, 2);
    codec(batch.number, 3);
    codec(batch.admits, kMaxMessages);
    for (Byte& message : batch.drained)
      codec(message, 2);
    codec(batch.was_applied, 1);
    codec(batch.done, 1);
  }
  for (Fate& fate : state.fates)
    codec(fate, 2);
  codec(state.claims, 2);
  codec(state.renewed, 3);
  codec(state.batched, 3);
  codec(state.pushes, 3);
  codec(state.failovers, 2);
  codec(state.deaths, 2);
  codec(state.missed_ticks, 1);
  codec(state.since_start, 2);
}

inline constexpr std::size_t kStateWords = 4;
using PackedState = StateSet<kStateWords>::Packed;

// Bits appended to words, and read again.
class BitWriter {
 public:
  explicit BitWriter(std::uint64_t* words) : words_(words) {}
  template <class T>
  void operator()(const T& field, unsigned bits) {
    const auto value = static_cast<std::uint64_t>(field);
    assert(value >> bits == 0);
    put(value, bits);
  }
  void put(std::uint64_t value, unsigned bits) {
    const unsigned word = at_ / 64, shift = at_ % 64;
    words_[word] |= value << shift;
    if (shift + bits > 64) words_[word + 1] |= value >> (64 - shift);
    at_ += bits;
  }
  unsigned bits() const { return at_; }

 private:
  std::uint64_t* words_;
  unsigned at_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const std::uint64_t* words) : words_(words) {}
  template <class T>
  void operator()(T& field, unsigned bits) {
    field = static_cast<T>(get(bits));
  }
  std::uint64_t get(unsigned bits) {
    const unsigned word = at_ / 64, shift = at_ % 64;
    std::uint64_t value = words_[word] >> shift;
    if (shift + bits > 64) value |= words_[word + 1] << (64 - shift);
    at_ += bits;
    return value & ((std::uint64_t{1} << bits) - 1);
  }

 private:
  const std::uint64_t* words_;
  unsigned at_ = 0;
};

inline constexpr unsigned kCrawlerBits = 34;

// The same for states that differ only in the order of the crawlers.
inline PackedState pack(State state) {
  PackedState packed{};
  BitWriter writer(packed.data());
  std::array<std::uint64_t, kCrawlers> crawlers{};
  for (std::size_t i = 0; i < kCrawlers; ++i) {
    BitWriter crawler(&crawlers[i]);
    code_crawler(state.crawlers[i], crawler);
    assert(crawler.bits() <= kCrawlerBits);
  }
  std::ranges::sort(crawlers);
  for (const std::uint64_t crawler : crawlers)
    writer.put(crawler, kCrawlerBits);
  code_shared(state, writer);
  assert(writer.bits() <= 64 * kStateWords);
  return packed;
}

inline State unpack(const PackedState& packed) {
  State state;
  BitReader reader(packed.data());
  for (Crawler& crawler : state.crawlers) {
    const std::uint64_t bits = reader.get(kCrawlerBits);
    BitReader fields(&bits);
    code_crawler(crawler, fields);
  }
  code_shared(state, reader);
  return state;
}

}  // namespace trawl::test
