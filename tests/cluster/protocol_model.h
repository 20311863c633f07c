// The protocol of crawlers that share a frontier on Redis, as a model whose states are all visited.
//
// Modelled: one bucket in Redis, a master with one replica. At any moment the replica may be cut
// off: the failover that follows at any later moment takes back all writes since, so every earlier
// state that no WAIT has confirmed comes back in some trace. A crawler claims the bucket, renews,
// releases or loses it, reads the inbox, sends numbered batches (each admits what is new to its
// filter and takes the messages read off the inbox), finds messages and pushes them or admits
// them itself, starts requests to the bucket's one host, and dies. The network delivers claims,
// releases and renewals once, at any later time, also after their sender gave up or died; batches
// and pushes any number of times. Answers may be lost. Each crawler counts ticks of its own clock
// and compares nothing else; a clock may miss a tick.
// A crawler that freezes is one that takes no step while the others do: every trace contains that.
//
// Abstracted: a message is one new URL; queues, host records and deferred URLs are what `admitted`
// stands for. What is kept in memory for replay is kept long enough. A master that lost its
// majority and still answers is not modelled (min-replicas-to-write stops its writes). A request
// starts at once after the owner looked at its clock.
//
// Nothing about the data may depend on clocks. So a scope without time lets any crawler claim at
// any moment, which covers more than every clock does, and leaves room for more batches; a scope
// with time and without batches covers what clocks are for: one owner at a time, and its delays.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/cluster/protocol_state.h"

namespace trawl::test {

// The protocol; each rule can be switched off.
struct Rules {
  bool wait_for_data = true;  // off: `durability = "async"`
  bool wait_for_claims = true;
  bool wait_for_renewals = true;
  bool fenced = true;                 // batches of other tokens are refused
  bool replays = true;                // batches that a failover took back are sent again
  bool pops_by_id = true;             // off: as many as were read
  bool fresh_renewals = true;         // off: each adds 1 to a counter in Redis
  bool renewals_once = true;          // off: a renewal may be sent again under its name
  bool rests = true;                  // a host rests its delay after a takeover
  bool passes_on = true;              // what a refused owner may have lost goes to the inbox
  bool deadline_from_sending = true;  // off: from the answer
};

// How much may happen.
struct Scope {
  unsigned claims = 0;
  unsigned renewals = 0;
  unsigned batches = 0;
  unsigned messages = 0;
  unsigned pushes = 0;  // that arrive, of all messages
  unsigned failovers = 0;
  unsigned deaths = 0;
  unsigned missed_ticks = 0;
  bool releases = false;
  // Whether what a finder knows as pushed must outlive it: its page has ended.
  bool finders_may_forget = false;
  bool time = false;
};

class ProtocolModel {
 public:
  // A crawler claims what it saw unchanged for `kTtl` ticks; an owner stops earlier, since clocks
  // differ.
  static constexpr Byte kTtl = 3;
  static constexpr Byte kDeadline = 2;
  static constexpr Byte kDelay = 3;

  struct Step {
    const char* what = "";
    Byte crawler = 0;  // from 1 on; 0: the network or Redis
    Byte number = 0;
  };
  struct Next {
    State state;
    Step step;
    const char* broken = nullptr;  // the property that the step or the state breaks
  };

  ProtocolModel(const Rules& rules, const Scope& scope) : rules_(rules), scope_(scope) {}

  // Replaces `next` by the states one step away.
  void steps(const State& state, std::vector<Next>& next) const;
  static std::string describe(const Next& next);

 private:
  class Stepper;
  Rules rules_;
  Scope scope_;
};

struct SearchResult {
  std::size_t states = 0;
  std::size_t steps = 0;              // from one state to another
  std::optional<std::string> broken;  // the property
  std::vector<std::string> trace;     // a shortest way there
};

// Visits all states, the nearest first, until a property is broken.
SearchResult search(const Rules& rules, const Scope& scope);

}  // namespace trawl::test
