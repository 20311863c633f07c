// nearest_name: finds the known name nearest to a misspelt one.
#pragma once

#include <span>
#include <string_view>

namespace trawl {

// Returns the candidate with the smallest number of insertions, deletions, changes and swaps of
// adjacent letters; empty if none is near (within a third of the letters, at least one). The first
// wins a tie. Takes time linear in the candidates, for any length of `name`.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace trawl
