#include "url/canonical_query.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <vector>

namespace trawl {

namespace {

std::string_view name_of(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

// Calls `visit` with each piece of the query between '&'s.
template <class Visit>
void for_each_parameter(std::string_view query, Visit visit) {
  while (true) {
    const std::size_t end = query.find('&');
    visit(query.substr(0, end));
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

bool is_sorted(std::string_view query) {
  bool sorted = true;
  std::string_view before;
  for_each_parameter(query, [&](std::string_view parameter) {
    const std::string_view name = name_of(parameter);
    sorted = sorted && !parameter.empty() && before <= name;
    before = name;
  });
  return sorted;
}

}  // namespace

bool drop_query_parameters(std::string& text, std::size_t start, const NameMatcher& names) {
  assert(start <= text.size());
  const std::string_view query = std::string_view(text).substr(start);
  std::size_t end = start;  // end of the kept parameters, which overwrite the input
  bool any_kept = false;
  bool any_dropped = false;  // also the empty parameter of an empty query, if "*" matches all names
  for_each_parameter(query, [&](std::string_view parameter) {
    if (names.matches(name_of(parameter))) {
      any_dropped = true;
      return;
    }
    if (any_kept) text[end++] = '&';
    any_kept = true;
    std::copy(parameter.begin(), parameter.end(), text.begin() + static_cast<std::ptrdiff_t>(end));
    end += parameter.size();
  });
  assert(end <= text.size());
  text.resize(end);
  return any_dropped;
}

bool sort_query_parameters(std::string& text, std::size_t start) {
  assert(start <= text.size());
  const std::string query = text.substr(start);
  if (query.empty() || is_sorted(query)) return false;
  std::vector<std::string_view> parameters;
  for_each_parameter(query, [&](std::string_view parameter) {
    if (!parameter.empty()) parameters.push_back(parameter);
  });
  // All views point into one text, so comparing addresses keeps their order.
  std::sort(parameters.begin(), parameters.end(), [](std::string_view a, std::string_view b) {
    const int order = name_of(a).compare(name_of(b));
    return order != 0 ? order < 0 : a.data() < b.data();
  });
  text.resize(start);
  for (const std::string_view parameter : parameters) {
    if (text.size() > start) text.push_back('&');
    text.append(parameter);
  }
  return true;
}

}  // namespace trawl
