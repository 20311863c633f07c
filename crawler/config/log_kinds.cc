// Kinds of the keys of [log].
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/nearest_name.h"

namespace trawl::config_kind {

namespace {

using Levels = std::vector<LogRoomLevel>;

constexpr std::array<std::string_view, 6> kLevels = {"trace", "debug", "info",
                                                     "warn",  "error", "off"};
constexpr std::string_view kLevelsType =
    "levels by part such as { http = \"debug\" } or [\"http=debug\"]";

// Adds an entry if room and level exist and the room has none yet.
bool add_room_level(std::string_view room, std::string_view level, Levels& levels,
                    const toml::node& node, const ConfigComplaint& complain) {
  if (std::ranges::find(kLogRoomNames, room) == kLogRoomNames.end()) {
    const std::string_view nearest = nearest_name(room, kLogRoomNames);
    complain(node, fmt::format("unknown part {}{}; known are {}", shown(room),
                               nearest.empty() ? "" : fmt::format(" (\"{}\"?)", nearest),
                               fmt::join(kLogRoomNames, ", ")));
    return false;
  }
  if (std::ranges::find(kLevels, level) == kLevels.end()) {
    complain(node, fmt::format("{}: expected one of {}; found {}", room, fmt::join(kLevels, ", "),
                               shown(level)));
    return false;
  }
  if (std::ranges::find(levels, room, &LogRoomLevel::room) != levels.end()) {
    complain(node, fmt::format("{} is named twice", room));
    return false;
  }
  levels.push_back({std::string(room), std::string(level)});
  return true;
}

// "http=debug"; with a comma in between, several of them.
bool add_room_levels(std::string_view text, Levels& levels, const toml::node& node,
                     const ConfigComplaint& complain) {
  const auto trimmed = [](std::string_view part) {
    const std::size_t from = std::min(part.find_first_not_of(' '), part.size());
    part.remove_prefix(from);
    return part.substr(0, part.find_last_not_of(' ') + 1);
  };
  bool good = true;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      complain(node, fmt::format("expected a part and its level such as \"http=debug\"; found {}",
                                 shown(entry)));
      return false;
    }
    good &= add_room_level(trimmed(entry.substr(0, equals)), trimmed(entry.substr(equals + 1)),
                           levels, node, complain);
  }
  return good;
}

std::optional<Levels> read_log_levels(const toml::node& node, const ConfigComplaint& complain) {
  Levels levels;
  bool good = true;
  if (const toml::table* table = node.as_table()) {
    for (auto&& [room, value] : *table) {
      const auto level = value.value_exact<std::string_view>();
      if (!level) complain(value, mismatch("a level such as \"debug\"", "", value));
      good = level && add_room_level(room.str(), *level, levels, value, complain) && good;
    }
  } else if (const toml::array* array = node.as_array()) {
    for (const toml::node& element : *array) {
      const auto text = element.value_exact<std::string_view>();
      if (!text) complain(element, mismatch(kLevelsType, "", element));
      good = text && add_room_levels(*text, levels, element, complain) && good;
    }
  } else if (const auto text = node.value_exact<std::string_view>()) {
    good = add_room_levels(*text, levels, node, complain);
  } else {
    complain(node, mismatch(kLevelsType, "", node));
    good = false;
  }
  if (!good) return std::nullopt;
  std::ranges::sort(levels, {}, &LogRoomLevel::room);  // as TOML's tables are
  return levels;
}

std::string write_log_levels(const Levels& levels) {
  std::vector<std::string> entries;
  for (const LogRoomLevel& entry : levels)
    entries.push_back(fmt::format("{} = {}", entry.room, toml_string(entry.level)));
  return entries.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(entries, ", "));
}

}  // namespace

Kind<std::string> log_level() {
  return one_of<std::string>({{"trace", "trace"},
                              {"debug", "debug"},
                              {"info", "info"},
                              {"warn", "warn"},
                              {"error", "error"},
                              {"off", "off"}});
}

Kind<std::vector<LogRoomLevel>> log_levels() {
  return {std::string(kLevelsType), {}, read_log_levels, write_log_levels, {}};
}

}  // namespace trawl::config_kind
