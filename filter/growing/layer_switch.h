// Linearizable inserts into the layers of a growing filter, and adding a new layer (A1, A2).
#pragma once

#include <cassert>
#include <cstddef>

namespace trawl {

// Inserts keys into a filter with several layers. `Keys` has drop_found_in(layer), which removes
// the keys that the layer has, and insert_in(layer), which inserts the keys and removes those that
// the layer already had; the remaining keys are new. It is a parameter so that tests can run this
// function under every interleaving.
//
// Correctness. Let T0, T1, ... be the tables of layers in the order of their publication.
// Operations insert into the last layer of their table, and operations with different tables never
// overlap, since a table is published while no operation is running. So
//  - while operations with Ti run, no thread writes to the older layers, so whether these have a
//    key does not change;
//  - the last layer's inserts are linearizable (exactly_once.h), and the answer for a key that no
//    older layer has is that layer's answer;
//  - everything that operations with Ti do happens before everything that operations with Ti+1 do.
// This gives an order of the calls in which every answer is right. A key that is found by a lookup
// before its insert, without an operation, is seen because of inserts that have taken effect: the
// lookup is ordered after them.
template <class Keys>
void insert_through_layers(Keys& keys, std::size_t layers) {
  assert(layers > 0);
  for (std::size_t older = layers - 1; older > 0; --older)
    keys.drop_found_in(older - 1);
  keys.insert_in(layers - 1);
}

// Adds a layer: `publish` publishes the table that has it. `Gate` is the OperationGate that
// operations pass, or a test's replacement.
template <class Gate, class Publish>
void begin_newest_layer(Gate& gate, const Publish& publish) {
  gate.at_quiescence(publish);
}

}  // namespace trawl
