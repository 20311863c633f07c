#include "crawler/resp/command.h"

#include <algorithm>
#include <array>

#include "crawler/resp/command_handlers.h"

namespace trawl::resp {

namespace {

constexpr unsigned kRead = 0;
constexpr unsigned kWrite = Command::kWrite;
constexpr unsigned kOpen = Command::kOpen;
constexpr unsigned kAdmin = Command::kAdmin;

constexpr auto kCommands = std::to_array<Command>({
    {"AUTH", -2, kOpen, 0, 0, &ClientCommands::auth},
    {"BF.ADD", 3, kWrite, 1, 1, &BloomCommands::add},
    {"BF.CARD", 2, kRead, 1, 1, &BloomCommands::card},
    {"BF.EXISTS", 3, kRead, 1, 1, &BloomCommands::exists},
    {"BF.INFO", -2, kRead, 1, 1, &BloomCommands::info},
    {"BF.INSERT", -4, kWrite, 1, 1, &BloomCommands::insert},
    {"BF.MADD", -3, kWrite, 1, 1, &BloomCommands::madd},
    {"BF.MEXISTS", -3, kRead, 1, 1, &BloomCommands::mexists},
    {"BF.RESERVE", -4, kWrite, 1, 1, &BloomCommands::reserve},
    {"BGSAVE", -1, kAdmin, 0, 0, &ServerCommands::bgsave},
    {"CF.ADD", 3, kWrite, 1, 1, &CuckooCommands::add},
    {"CF.ADDNX", 3, kWrite, 1, 1, &CuckooCommands::addnx},
    {"CF.COUNT", 3, kRead, 1, 1, &CuckooCommands::count},
    {"CF.DEL", 3, kWrite, 1, 1, &CuckooCommands::del},
    {"CF.EXISTS", 3, kRead, 1, 1, &CuckooCommands::exists},
    {"CF.INFO", 2, kRead, 1, 1, &CuckooCommands::info},
    {"CF.INSERT", -4, kWrite, 1, 1, &CuckooCommands::insert},
    {"CF.INSERTNX", -4, kWrite, 1, 1, &CuckooCommands::insertnx},
    {"CF.MEXISTS", -3, kRead, 1, 1, &CuckooCommands::mexists},
    {"CF.RESERVE", -3, kWrite, 1, 1, &CuckooCommands::reserve},
    {"CLIENT", -2, kRead, 0, 0, &ClientCommands::client},
    {"COMMAND", -1, kRead, 0, 0, &ServerCommands::command},
    {"CONFIG", -2, kAdmin, 0, 0, &ServerCommands::config},
    {"DBSIZE", 1, kRead, 0, 0, &KeyCommands::dbsize},
    {"DEL", -2, kWrite, 1, -1, &KeyCommands::del},
    {"ECHO", 2, kRead, 0, 0, &ClientCommands::echo},
    {"EXISTS", -2, kRead, 1, -1, &KeyCommands::exists},
    {"FLUSHALL", -1, kWrite, 0, 0, &KeyCommands::flushall},
    {"HELLO", -1, kOpen, 0, 0, &ClientCommands::hello},
    {"INFO", -1, kRead, 0, 0, &ServerCommands::info},
    {"KEYS", 2, kRead, 0, 0, &KeyCommands::keys},
    {"PING", -1, kRead, 0, 0, &ClientCommands::ping},
    {"QUIT", -1, kOpen, 0, 0, &ClientCommands::quit},
    {"SAVE", 1, kAdmin, 0, 0, &ServerCommands::save},
    {"SCAN", -2, kRead, 0, 0, &KeyCommands::scan},
    {"SELECT", 2, kRead, 0, 0, &ClientCommands::select},
    {"SHUTDOWN", -1, kAdmin, 0, 0, &ServerCommands::shutdown},
    {"TYPE", 2, kRead, 1, 1, &KeyCommands::type},
});
static_assert(std::ranges::is_sorted(kCommands, {}, &Command::name));

}  // namespace

std::span<const Command> all_commands() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  constexpr std::size_t kLongest = 11;
  if (name.size() > kLongest) return nullptr;
  std::array<char, kLongest> capitals;
  std::ranges::transform(name, capitals.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  const std::string_view wanted(capitals.data(), name.size());
  const auto* const found = std::ranges::lower_bound(kCommands, wanted, {}, &Command::name);
  return found != kCommands.end() && found->name == wanted ? found : nullptr;
}

}  // namespace trawl::resp
