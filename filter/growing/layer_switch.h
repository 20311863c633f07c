// How a key passes through the layers of a growing filter, and how a new layer is begun, such that
// of all threads inserting a key at most one is told it was the first.
#pragma once

#include <cstddef>

namespace trawl {

enum class LayerPhase {
  kStable,  // keys are inserted in the newest layer
  kBoth,    // a layer is being begun: in the newest but one, and then in the newest
};

// The layer whose insert comes first, of `layers`.
constexpr std::size_t first_insert_layer(std::size_t layers, LayerPhase phase) noexcept {
  return phase == LayerPhase::kBoth ? layers - 2 : layers - 1;
}

// Inserts keys that a grown filter is asked to. `Keys` gives drop_found_in(layer), which takes away
// those keys that the layer has, and insert_in(layer), which inserts and takes away those that the
// layer already had; what is left over is new. It is a parameter so that the tests can run this
// very function under every interleaving.
//
// A layer itself calls at most one of all inserts of a key new (exactly_once_insert.h).
//
// At most one of two operations A and B on one key is told "new", whatever tables they go by. Call
// the tables in the order of their publication S0, B1, S1, B2, S2...: Bi inserts in layer i - 1 and
// in layer i, and Si in layer i; each tests all the layers before those.
//  - Their tables share a layer they insert in: to be told "new" each would have to win there, and
//    only one does.
//  - Otherwise some Bi lies between their tables or is the later one's predecessor: one of the two,
//    say A, goes by a table before Bi, and B by Si or a later one. The grace period between the
//    publications of Bi and Si makes A end before Si is published, hence before B begins to test.
//    If A was told "new", the key is in a layer that B tests, and B is told "seen".
//
// No key is lost: of the operations on a key (that no layer has by error) one is told "new".
// Somebody wins in the lowest layer that gets the key. It is told "new" unless it goes by Bi and
// then loses in layer i; the winner there did not go by Bi too, since only one of those wins in
// layer i - 1, but by Si, and is told "new", or by Bi+1, of which the same can be said again; and
// there is a last table. An operation is told "seen" only by a layer that has the key, and layers
// are never taken away.
template <class Keys>
void insert_through_layers(Keys& keys, std::size_t layers, LayerPhase phase) {
  const std::size_t first = first_insert_layer(layers, phase);
  for (std::size_t older = first; older > 0; --older)
    keys.drop_found_in(older - 1);
  keys.insert_in(first);
  if (phase == LayerPhase::kBoth) keys.insert_in(layers - 1);
}

// Begins a layer. `Switch` gives publish(phase), which hands operations the table that has the new
// layer, and wait_for_operations(), a grace period: all operations that may go by an earlier table
// have ended when it returns.
template <class Switch>
void begin_newest_layer(Switch& grower) {
  grower.publish(LayerPhase::kBoth);
  grower.wait_for_operations();
  grower.publish(LayerPhase::kStable);
}

}  // namespace trawl
