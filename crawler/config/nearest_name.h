// nearest_name: which known name a misspelt one was meant to be.
#pragma once

#include <span>
#include <string_view>

namespace trawl {

// The candidate that `name` turns into with the fewest letters inserted, dropped, changed or
// swapped with their neighbour; empty if none is near (a third of the letters, at least one).
// The first wins a tie. Takes time linear in the candidates whatever the length of `name`.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace trawl
