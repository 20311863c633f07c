#include "crawler/config/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace trawl {
namespace {

// The optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t limit = std::max<std::size_t>(1, candidate.size() / 3);
    // The difference of lengths is a lower bound, which keeps very long names cheap.
    if (name.size() > candidate.size() + limit || candidate.size() > name.size() + limit) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > limit || (!best.empty() && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace trawl
