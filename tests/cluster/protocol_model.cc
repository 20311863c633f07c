#include "tests/cluster/protocol_model.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace trawl::test {
namespace {

Byte bit(unsigned number) {
  return static_cast<Byte>(1u << (number - 1));
}

// What the scripts write.
void claim(Bucket& bucket, Byte token, const Rules& rules) {
  bucket.token = token;
  bucket.renewal = rules.fresh_renewals ? Byte{0} : static_cast<Byte>(bucket.renewal + 1);
}
void renew(Bucket& bucket, Byte name, const Rules& rules) {
  bucket.renewal = rules.fresh_renewals ? name : static_cast<Byte>(bucket.renewal + 1);
}
void apply(Bucket& bucket, const BatchMessage& batch, Byte number, const Rules& rules) {
  bucket.version = batch.number;
  bucket.applied |= bit(number);
  bucket.admitted |= batch.admits;
  for (const Byte message : batch.drained) {
    if (message == 0 || bucket.inbox[0] == 0) break;
    if (rules.pops_by_id && bucket.inbox[0] != message) break;
    std::ranges::rotate(bucket.inbox, bucket.inbox.begin() + 1);
    bucket.inbox.back() = 0;
  }
}

}  // namespace

// Generates the steps of one state.
class ProtocolModel::Stepper {
 public:
  Stepper(const Rules& rules, const Scope& scope, const State& state, std::vector<Next>& next)
      : rules_(rules), scope_(scope), state_(state), next_(next), master_(state.master) {}

  void run() {
    for (std::size_t i = 0; i < kCrawlers; ++i) {
      who_ = i;
      if (!state_.crawlers[i].alive) continue;
      if (state_.crawlers[i].owns == 0) {
        seek();
      } else {
        own();
      }
      find_and_push();
      die();
    }
    who_ = kCrawlers;
    deliver();
    fail_over();
    if (scope_.time) tick();
  }

 private:
  // Whether no failover takes back what is true of the master.
  template <class Has>
  bool is_replicated(const State& state, Has has) const {
    return has(state.master) && (!state.cut || has(state.replica));
  }
  Answer answer_now() const { return state_.cut ? Answer::kExecuted : Answer::kReplicated; }
  static bool counts(Answer answer, bool waits) {
    return answer == Answer::kReplicated || (answer == Answer::kExecuted && !waits);
  }

  // A crawler without the bucket.
  void seek() {
    const Crawler& now = state_.crawlers[who_];
    if (now.claiming != 0) {
      if (counts(now.claim, rules_.wait_for_claims)) take_over();
      if (!scope_.time) return;
      State state = state_;
      forget_claim(state.crawlers[who_]);
      return emit(state, "stops waiting for its claim", now.claiming);
    }
    const bool same = now.seen_token == master_.token && now.seen_renewal == master_.renewal;
    if (scope_.time && !same) {
      State state = state_;
      see(state.crawlers[who_]);
      emit(state, "reads token and renewal", master_.token);
    }
    if (state_.claims == scope_.claims) return;
    if (scope_.time && now.seen_token != 0 && now.seen_for < kTtl) return;
    State state = state_;
    Crawler& crawler = state.crawlers[who_];
    const Byte token = ++state.claims;
    state.tokens[token - 1] = {.claim_under_way = true,
                               .release_under_way = false,
                               .seen_token = scope_.time ? now.seen_token : master_.token,
                               .seen_renewal = scope_.time ? now.seen_renewal : master_.renewal};
    crawler.claiming = token;
    crawler.since_sent = 0;
    crawler.seen_token = crawler.seen_renewal = crawler.seen_for = 0;
    if (!scope_.time) {  // arriving later, with what it then compares with, is being sent later
      execute_claim(state, token);
      return emit(state, "claims the bucket, token", token);
    }
    emit(state, "sends claim", token);
  }
  void see(Crawler& crawler) const {
    crawler.seen_for = 0;
    crawler.seen_token = scope_.time ? master_.token : Byte{0};
    crawler.seen_renewal = scope_.time ? master_.renewal : Byte{0};
  }
  void forget_claim(Crawler& crawler) const {
    crawler.claiming = 0;
    crawler.claim = Answer::kNone;
    crawler.since_sent = 0;
    see(crawler);
  }
  Byte deadline(const Crawler& crawler) const {
    if (!scope_.time) return 0;
    const Byte passed = rules_.deadline_from_sending ? crawler.since_sent : Byte{0};
    return passed < kDeadline ? static_cast<Byte>(kDeadline - passed) : Byte{0};
  }
  void take_over() {
    State state = state_;
    Crawler& crawler = state.crawlers[who_];
    const Byte token = crawler.claiming;
    crawler.owns = token;
    crawler.may_start = deadline(crawler);
    crawler.rest = scope_.time && rules_.rests ? kDelay : Byte{0};
    crawler.last_batch = master_.version;
    crawler.seen = master_.admitted;
    forget_claim(crawler);
    crawler.seen_token = crawler.seen_renewal = 0;
    emit(state, "owns the bucket, token", token);
  }

  // A crawler with the bucket.
  void own() {
    const Crawler& now = state_.crawlers[who_];
    if (master_.token != now.owns) lose();
    if (scope_.time) {
      renew();
      start();
    }
    if (scope_.releases) release();
    drain();
    if (!rules_.replays && master_.token == now.owns && master_.version < now.last_batch) go_on();
  }
  void drop(State& state) const {
    Crawler& crawler = state.crawlers[who_];
    const auto kept = crawler.kept;
    crawler = Crawler{};
    crawler.kept = kept;
    see(crawler);
  }
  void lose() {
    State state = state_;
    const Byte token = state.crawlers[who_].owns;
    for (Kept& kept : state.crawlers[who_].kept)
      if (kept == Kept::kInOwnBatch) kept = rules_.passes_on ? Kept::kPushes : Kept::kAcknowledged;
    drop(state);
    emit(state, "is refused and drops the bucket, token", token);
  }
  void renew() {
    const Crawler& now = state_.crawlers[who_];
    if (counts(now.renewal, rules_.wait_for_renewals)) {
      State state = state_;
      Crawler& crawler = state.crawlers[who_];
      crawler.may_start = std::max(crawler.may_start, deadline(crawler));
      crawler.renewing = 0;
      crawler.renewal = Answer::kNone;
      crawler.since_sent = 0;
      emit(state, "counts renewal", now.renewing);
    }
    if (state_.renewed == scope_.renewals) return;
    State state = state_;
    Crawler& crawler = state.crawlers[who_];
    const Byte name = ++state.renewed;
    state.renewals[name - 1] = {.under_way = true, .token = crawler.owns};
    crawler.renewing = name;
    crawler.renewal = Answer::kNone;
    crawler.since_sent = 0;
    emit(state, "sends renewal", name);
  }
  void start() {
    const Crawler& now = state_.crawlers[who_];
    if (now.may_start == 0 || now.rest != 0) return;
    State state = state_;
    state.crawlers[who_].rest = kDelay;
    state.since_start = 0;
    emit(state, "starts a request", 0,
         state_.since_start < kDelay ? "two requests to a host closer than the delay" : nullptr);
  }
  // All its batches are replicated before it releases the bucket, without WAIT for data too: no
  // crawler would replay them afterwards.
  void release() {
    State state = state_;
    Crawler& crawler = state.crawlers[who_];
    const Byte token = crawler.owns;
    for (const Kept kept : crawler.kept)
      if (kept == Kept::kInOwnBatch) return;
    for (const BatchMessage& batch : state.batches)
      if (!batch.done && batch.token == token) return;
    if (scope_.time) {
      state.tokens[token - 1].release_under_way = true;
    } else if (master_.token == token) {  // arriving later is being sent later
      state.master.token = 0;
    }
    drop(state);
    emit(state, "releases the bucket, token", token);
  }
  void drain() {
    if (state_.batched == scope_.batches) return;
    // It reads on when what it read is off the inbox.
    for (const BatchMessage& batch : state_.batches)
      if (batch.token == state_.crawlers[who_].owns && batch.drained[0] != 0 &&
          batch.number > master_.version)
        return;
    for (std::size_t count = 1; count <= std::min<std::size_t>(2, master_.inbox_size()); ++count) {
      BatchMessage batch;
      Byte read = 0;
      for (std::size_t i = 0; i < count; ++i) {
        batch.drained[i] = master_.inbox[i];
        read |= bit(master_.inbox[i]);
      }
      State state = state_;
      batch.admits = static_cast<Byte>(read & ~state.crawlers[who_].seen);
      send(state, batch);
      emit(state, count == 1 ? "reads a message, sends batch" : "reads two messages, sends batch",
           state.batched);
    }
  }
  void send(State& state, BatchMessage batch) const {
    Crawler& crawler = state.crawlers[who_];
    batch.token = crawler.owns;
    batch.number = ++crawler.last_batch;
    crawler.seen |= batch.admits;
    state.batches[state.batched++] = batch;
  }
  // A crawler without replay believes the answers it had, and goes on from the number it is given.
  void go_on() {
    const Byte owns = state_.crawlers[who_].owns;
    for (const BatchMessage& batch : state_.batches)
      if (batch.token == owns && batch.number > master_.version && !batch.was_applied) return;
    State state = state_;
    Crawler& crawler = state.crawlers[who_];
    for (BatchMessage& batch : state.batches)
      if (batch.token == crawler.owns && batch.number > master_.version) {
        batch = BatchMessage{};
        batch.done = true;
      }
    crawler.last_batch = master_.version;
    emit(state, "goes on without replay from version", master_.version);
  }

  void find_and_push() {
    const Crawler& now = state_.crawlers[who_];
    for (unsigned m = 1; m <= scope_.messages; ++m) {
      // Messages are alike: the first is found first.
      const bool first = m == 1 || state_.fates[m - 2] != Fate::kNotFound;
      if (state_.fates[m - 1] == Fate::kNotFound && first) {
        State state = state_;
        state.fates[m - 1] = Fate::kKept;
        if (now.owns == 0) {
          state.crawlers[who_].kept[m - 1] = Kept::kPushes;
          emit(state, "finds and sends message", static_cast<Byte>(m));
        } else if (state_.batched < scope_.batches) {
          state.crawlers[who_].kept[m - 1] = Kept::kInOwnBatch;
          BatchMessage batch;
          batch.admits = bit(m);
          send(state, batch);
          emit(state, "admits a message itself, sends batch", state.batched);
        }
      }
      if (now.kept[m - 1] == Kept::kPushes && master_.has(m) && !rules_.wait_for_data) {
        State state = state_;
        state.crawlers[who_].kept[m - 1] = Kept::kAcknowledged;
        emit(state, "knows as pushed message", static_cast<Byte>(m));
      }
    }
  }
  void die() {
    if (state_.deaths == scope_.deaths) return;
    State state = state_;
    ++state.deaths;
    Crawler& crawler = state.crawlers[who_];
    for (unsigned m = 1; m <= scope_.messages; ++m)
      if (crawler.kept[m - 1] != Kept::kNot)
        state.fates[m - 1] = crawler.kept[m - 1] == Kept::kAcknowledged && scope_.finders_may_forget
                                 ? Fate::kOwed
                                 : Fate::kVoid;
    crawler = Crawler{};
    crawler.alive = false;
    emit(state, "dies", 0);
  }

  // What the network delivers.
  void deliver() {
    for (unsigned k = 1; k <= state_.claims; ++k) {
      if (state_.tokens[k - 1].claim_under_way) deliver_claim(k);
      if (state_.tokens[k - 1].release_under_way) {
        State state = state_;
        state.tokens[k - 1].release_under_way = false;
        if (master_.token == k) state.master.token = 0;
        emit(state, "Redis executes the release of token", static_cast<Byte>(k));
      }
    }
    for (unsigned r = 1; r <= state_.renewed; ++r)
      if (state_.renewals[r - 1].under_way) deliver_renewal(r);
    for (unsigned b = 1; b <= state_.batched; ++b)
      if (!state_.batches[b - 1].done) deliver_batch(b);
    for (unsigned m = 1; m <= scope_.messages; ++m) {
      if (state_.fates[m - 1] == Fate::kNotFound || state_.pushes == scope_.pushes) continue;
      if (master_.inbox_size() == kMaxInbox) continue;
      State state = state_;
      ++state.pushes;
      state.master.inbox[master_.inbox_size()] = static_cast<Byte>(m);
      emit(state, "Redis pushes message", static_cast<Byte>(m));
    }
  }
  bool execute_claim(State& state, unsigned k) const {
    const Token token = state.tokens[k - 1];
    state.tokens[k - 1] = Token{};
    const bool same = token.seen_token == master_.token && token.seen_renewal == master_.renewal;
    if (same) claim(state.master, static_cast<Byte>(k), rules_);
    for (Crawler& crawler : state.crawlers) {
      if (crawler.claiming != k) continue;
      if (same) {
        crawler.claim = answer_now();
      } else {
        forget_claim(crawler);
      }
    }
    return same;
  }
  void deliver_claim(unsigned k) {
    State state = state_;
    const bool executed = execute_claim(state, k);
    emit(state, executed ? "Redis executes claim" : "Redis refuses claim", static_cast<Byte>(k));
  }
  void deliver_renewal(unsigned r) {
    State state = state_;
    const bool owned = state_.renewals[r - 1].token == master_.token;
    if (owned) trawl::test::renew(state.master, static_cast<Byte>(r), rules_);
    if (rules_.renewals_once || !owned) state.renewals[r - 1] = Renewal{};
    for (Crawler& crawler : state.crawlers) {
      if (crawler.renewing != r) continue;
      crawler.renewal = owned ? answer_now() : Answer::kNone;
      if (!owned) crawler.renewing = crawler.since_sent = 0;
    }
    emit(state, owned ? "Redis executes renewal" : "Redis refuses renewal", static_cast<Byte>(r));
  }
  void deliver_batch(unsigned b) {
    const BatchMessage& batch = state_.batches[b - 1];
    if (rules_.fenced && batch.token != master_.token) return;  // answers F, writes nothing
    if (batch.number <= master_.version) return;                // D
    if (batch.number != master_.version + 1) return;            // answers the version
    State state = state_;
    state.batches[b - 1].was_applied = !rules_.replays;
    apply(state.master, batch, static_cast<Byte>(b), rules_);
    const char* broken = nullptr;
    if (batch.token != master_.token) broken = "a batch was applied after another crawler's claim";
    if ((master_.admitted & batch.admits) != 0) broken = "a message was admitted twice";
    if ((master_.applied & bit(b)) != 0) broken = "a batch was applied twice";
    emit(state, "Redis applies batch", static_cast<Byte>(b), broken);
  }
  void fail_over() {
    State state = state_;
    if (!state.cut) {
      if (state.failovers == scope_.failovers) return;
      ++state.failovers;
      state.cut = true;
      state.replica = state.master;
      return emit(state, "the replica gets no more writes", 0);
    }
    state.cut = false;
    state.master = state.replica;
    for (Crawler& crawler : state.crawlers) {  // answers are lost with the connections
      if (crawler.claim == Answer::kExecuted) {
        forget_claim(crawler);
        crawler.seen_token = scope_.time ? state.master.token : Byte{0};
        crawler.seen_renewal = scope_.time ? state.master.renewal : Byte{0};
      }
      if (crawler.renewal == Answer::kExecuted) {
        crawler.renewing = crawler.since_sent = 0;
        crawler.renewal = Answer::kNone;
      }
      for (Kept& message : crawler.kept)
        if (message == Kept::kAcknowledged) message = Kept::kPushes;
    }
    emit(state, "the replica becomes the master", 0);
  }
  // All clocks go on, except one that may miss the tick.
  void tick() {
    for (std::size_t slow = 0; slow <= kCrawlers; ++slow) {
      if (slow < kCrawlers && state_.missed_ticks == scope_.missed_ticks) continue;
      State state = state_;
      if (slow < kCrawlers) ++state.missed_ticks;
      state.since_start = std::min<Byte>(kDelay, static_cast<Byte>(state.since_start + 1));
      for (std::size_t i = 0; i < kCrawlers; ++i) {
        Crawler& crawler = state.crawlers[i];
        if (i == slow || !crawler.alive) continue;
        const auto up = [](Byte& ticks, Byte most) { ticks += ticks < most ? 1 : 0; };
        if (crawler.claiming != 0 || crawler.renewing != 0) up(crawler.since_sent, kDeadline);
        if (crawler.seen_token != 0) up(crawler.seen_for, kTtl);
        crawler.may_start -= crawler.may_start > 0 ? 1 : 0;
        crawler.rest -= crawler.rest > 0 ? 1 : 0;
      }
      who_ = slow;
      emit(state, slow < kCrawlers ? "has a clock that misses this tick" : "a tick", 0);
    }
    who_ = kCrawlers;
  }

  const char* broken_in(const State& state) const {
    const Bucket& master = state.master;
    unsigned starters = 0;
    for (const Crawler& crawler : state.crawlers) {
      starters += crawler.may_start > 0 ? 1 : 0;
      if (crawler.owns == 0 || crawler.owns != master.token || !rules_.replays) continue;
      for (Byte n = static_cast<Byte>(master.version + 1); n <= crawler.last_batch; ++n)
        if (!has_batch(state, crawler.owns, n)) return "an owner lacks a batch to replay";
    }
    if (starters > 1) return "two crawlers may start requests";
    for (unsigned m = 1; m <= scope_.messages; ++m)
      if (is_lost(state, master, m)) return "a message is lost";
    return nullptr;
  }
  static bool has_batch(const State& state, Byte token, Byte number) {
    return std::ranges::any_of(state.batches, [&](const BatchMessage& batch) {
      return batch.token == token && batch.number == number;
    });
  }
  bool is_lost(const State& state, const Bucket& master, unsigned m) const {
    const Fate fate = state.fates[m - 1];
    if (fate == Fate::kNotFound || fate == Fate::kVoid || master.has(m)) return false;
    if (fate == Fate::kOwed) return true;
    for (const Crawler& crawler : state.crawlers) {
      if (crawler.kept[m - 1] == Kept::kPushes) return false;
      if (crawler.kept[m - 1] != Kept::kInOwnBatch) continue;
      if (crawler.owns != master.token) return false;  // it is refused, and pushes
      return std::ranges::none_of(state.batches, [&](const BatchMessage& batch) {
        return batch.token == crawler.owns && batch.number > master.version &&
               batch.admits_message(m);
      });
    }
    return true;
  }

  void emit(const State& state, const char* what, Byte number, const char* broken = nullptr) {
    const Byte crawler = who_ < kCrawlers ? static_cast<Byte>(who_ + 1) : Byte{0};
    if (broken == nullptr) broken = broken_in(state);
    next_.push_back({.state = state,
                     .step = {.what = what, .crawler = crawler, .number = number},
                     .broken = broken});
    forget_what_cannot_matter(next_.back().state);
  }

  // States that only differ in what cannot have a consequence any more become the same.
  void forget_what_cannot_matter(State& state) const {
    if (!state.cut) state.replica = state.master;
    const std::array<Bucket, 2> buckets = {state.master, state.replica};
    const auto can_be_current = [&](Byte token) {
      return std::ranges::any_of(buckets, [&](const Bucket& b) { return b.token == token; }) ||
             state.tokens[token - 1].claim_under_way;
    };
    for (Token& token : state.tokens) {
      if (!token.claim_under_way || !rules_.fresh_renewals || !rules_.renewals_once) continue;
      const bool can_match = std::ranges::any_of(buckets, [&](const Bucket& b) {
        return b.token == token.seen_token && b.renewal == token.seen_renewal;
      });
      if (!can_match) token = Token{};
    }
    for (std::size_t b = 0; b < state.batched; ++b) {
      BatchMessage& batch = state.batches[b];
      if (batch.done) continue;
      if (batch.number > state.replica.version && (can_be_current(batch.token) || !rules_.fenced))
        continue;
      batch = BatchMessage{};
      batch.done = true;
      const Byte others = static_cast<Byte>(~bit(static_cast<unsigned>(b + 1)));
      state.master.applied &= others;
      state.replica.applied &= others;
    }
    for (std::size_t k = 0; k < state.claims; ++k)
      if (state.tokens[k].release_under_way && !can_be_current(static_cast<Byte>(k + 1)))
        state.tokens[k].release_under_way = false;
    for (std::size_t r = 0; r < state.renewed; ++r)
      if (state.renewals[r].under_way && !can_be_current(state.renewals[r].token))
        state.renewals[r] = Renewal{};
    for (unsigned m = 1; m <= scope_.messages; ++m) {
      const auto has = [&](const Bucket& bucket) { return bucket.has(m); };
      if (state.fates[m - 1] == Fate::kNotFound || !is_replicated(state, has)) continue;
      state.fates[m - 1] = Fate::kOwed;
      for (Crawler& crawler : state.crawlers)
        crawler.kept[m - 1] = Kept::kNot;
    }
  }

  const Rules& rules_;
  const Scope& scope_;
  const State& state_;
  std::vector<Next>& next_;
  const Bucket master_;
  std::size_t who_ = kCrawlers;
};

void ProtocolModel::steps(const State& state, std::vector<Next>& next) const {
  next.clear();
  Stepper(rules_, scope_, state, next).run();
}

std::string ProtocolModel::describe(const Next& next) {
  const Step& step = next.step;
  std::string text = step.crawler != 0 ? fmt::format("crawler {} ", step.crawler) : std::string();
  text += step.what;
  if (step.number != 0) text += fmt::format(" {}", step.number);
  return text;
}

SearchResult search(const Rules& rules, const Scope& scope) {
  const ProtocolModel model(rules, scope);
  StateSet<kStateWords> states;
  SearchResult result;
  State first;
  first.since_start = ProtocolModel::kDelay;
  states.insert(pack(first), 0);
  std::vector<ProtocolModel::Next> next;
  std::optional<ProtocolModel::Next> last;
  std::size_t at = 0;
  for (; at < states.size() && !last; ++at) {
    model.steps(unpack(states[at]), next);
    for (const auto& one : next) {
      ++result.steps;
      if (one.broken != nullptr) {
        last = one;
        break;
      }
      states.insert(pack(one.state), static_cast<std::uint32_t>(at));
    }
  }
  result.states = states.size();
  if (!last) return result;
  result.broken = last->broken;
  // The way there, with crawlers named in one order throughout: packing sorts them.
  std::vector<std::size_t> way;
  for (std::size_t i = at - 1; i != 0; i = states.parent(i))
    way.push_back(i);
  std::ranges::reverse(way);
  State state = first;
  const auto go = [&](const PackedState& to, const char* broken) {
    model.steps(state, next);
    const auto step = std::ranges::find_if(next, [&](const auto& one) {
      return pack(one.state) == to && (broken == nullptr || one.broken != nullptr);
    });
    result.trace.push_back(ProtocolModel::describe(*step));
    state = State(step->state);
  };
  for (const std::size_t i : way)
    go(states[i], nullptr);
  go(pack(last->state), last->broken);
  return result;
}

}  // namespace trawl::test
