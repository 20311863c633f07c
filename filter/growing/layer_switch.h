// How a key passes through the layers of a growing filter, and how a new layer is begun, such that
// the answers of all inserts are those of the same inserts one after the other (A1, A2).
#pragma once

#include <cstddef>

namespace trawl {

// Inserts keys that a grown filter is asked to. `Keys` gives drop_found_in(layer), which takes away
// those keys that the layer has, and insert_in(layer), which inserts and takes away those that the
// layer already had; what is left over is new. It is a parameter so that the tests can run this
// very function under every interleaving.
//
// Why it is right. Call the tables of layers, in the order of their publication, T0, T1, ... The
// last layer of a table is the one that operations by it insert in, and no two operations by
// different tables overlap: a table is published while none is under way. So
//  - while operations by Ti are under way nobody writes to the older layers, and whether they have
//    a key is the same at every moment;
//  - in the last layer the inserts take effect one after the other (exactly_once.h), and what an
//    operation answers for a key that no older layer has is what that layer answers;
//  - all that operations by Ti did comes before all that operations by Ti+1 do.
// That is the order of the calls in which every answer is right. A key that is found without an
// operation, by a lookup before its insert, is seen because of inserts that have taken effect: the
// lookup has its place after them.
template <class Keys>
void insert_through_layers(Keys& keys, std::size_t layers) {
  for (std::size_t older = layers - 1; older > 0; --older)
    keys.drop_found_in(older - 1);
  keys.insert_in(layers - 1);
}

// Begins a layer: publish() hands operations the table that has it. `Gate` is an OperationGate that
// operations pass, or what the tests run in its place.
template <class Gate, class Publish>
void begin_newest_layer(Gate& gate, const Publish& publish) {
  gate.at_quiescence(publish);
}

}  // namespace trawl
