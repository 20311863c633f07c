// COMMAND, CONFIG, INFO, SAVE, BGSAVE, SHUTDOWN
#include <array>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/ascii.h"
#include "base/process_memory.h"
#include "crawler/resp/command_arguments.h"
#include "crawler/resp/command_handlers.h"
#include "crawler/resp/glob_match.h"

namespace trawl::resp {

namespace {

void describe_command(CommandCall& call, const Command& command) {
  call.reply.array(6);
  call.reply.bulk(to_lower(command.name));
  call.reply.integer(std::int64_t{command.arity});
  const bool write = (command.flags & Command::kWrite) != 0;
  call.reply.array(1);
  call.reply.simple(write                                    ? "write"
                    : (command.flags & Command::kAdmin) != 0 ? "admin"
                                                             : "readonly");
  call.reply.integer(std::int64_t{command.first_key});
  call.reply.integer(std::int64_t{command.last_key});
  call.reply.integer(std::int64_t{command.first_key == 0 ? 0 : 1});
}

void command_info(CommandCall& call) {
  call.reply.array(call.request.size() - 2);
  for (std::size_t i = 2; i < call.request.size(); ++i) {
    const Command* const command = find_command(call.request[i]);
    if (command == nullptr) {
      call.reply.null();
    } else {
      describe_command(call, *command);
    }
  }
}

std::string memory_text(std::uint64_t bytes) {
  return fmt::format("{:.2f}M", static_cast<double>(bytes) / (1 << 20));
}

std::string info_text(CommandCall& call) {
  const ServerCounts counts = call.server.counts();
  const FilterLog::Waiting waiting = call.store.log().waiting();
  const std::string failure = call.store.log().failing() ? "err" : "ok";
  std::string text = fmt::format(
      "# Server\r\nredis_version:7.0.0\r\ntrawl_version:{}\r\nredis_mode:standalone\r\n"
      "process_id:{}\r\ntcp_port:{}\r\nuptime_in_seconds:{}\r\n\r\n",
      TRAWL_VERSION, ::getpid(), counts.port, counts.seconds);
  text += fmt::format("# Clients\r\nconnected_clients:{}\r\nmaxclients:{}\r\n\r\n", counts.clients,
                      counts.max_clients);
  const std::uint64_t used = call.store.memory_bytes() + counts.buffer_bytes;
  text += fmt::format(
      "# Memory\r\nused_memory:{}\r\nused_memory_human:{}\r\nused_memory_rss:{}\r\n"
      "used_memory_filters:{}\r\nused_memory_clients:{}\r\nmaxmemory:{}\r\n"
      "maxmemory_policy:noeviction\r\n\r\n",
      used, memory_text(used), resident_memory(), call.store.memory_bytes(), counts.buffer_bytes,
      call.store.options().max_memory);
  text += fmt::format(
      "# Persistence\r\nloading:0\r\nrdb_bgsave_in_progress:{}\r\nrdb_last_save_time:{}\r\n"
      "rdb_last_bgsave_status:{}\r\naof_enabled:1\r\naof_last_write_status:{}\r\n"
      "log_waiting_bytes:{}\r\nlog_bytes:{}\r\n\r\n",
      call.store.in_checkpoint() ? 1 : 0, counts.last_save, counts.last_save_failed ? "err" : "ok",
      failure, waiting.bytes, call.store.log().bytes_of_segment());
  text += fmt::format(
      "# Stats\r\ntotal_connections_received:{}\r\ntotal_commands_processed:{}\r\n"
      "rejected_connections:{}\r\n\r\n# Replication\r\nrole:master\r\n\r\n# Cluster\r\n"
      "cluster_enabled:0\r\n\r\n# Keyspace\r\n",
      counts.connections, counts.commands, counts.rejected);
  if (call.store.size() > 0)
    text += fmt::format("db0:keys={},expires=0,avg_ttl=0\r\n", call.store.size());
  return text;
}

// The sections that are asked for; all by default.
std::string chosen_sections(const std::string& text, const Request& request) {
  std::string chosen;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find("\r\n\r\n", at);
    end = end == std::string::npos ? text.size() : end + 4;
    const std::string_view section = std::string_view(text).substr(at, end - at);
    const std::string name = to_lower(section.substr(2, section.find('\r') - 2));
    for (std::size_t i = 1; i < request.size(); ++i) {
      const std::string asked = to_lower(request[i]);
      if (asked != name && asked != "all" && asked != "everything" && asked != "default") continue;
      chosen += section;
      break;
    }
    at = end;
  }
  return chosen;
}

}  // namespace

void ServerCommands::command(CommandCall& call) {
  const auto commands = all_commands();
  if (call.request.size() == 1) {
    call.reply.array(commands.size());
    for (const Command& command : commands)
      describe_command(call, command);
    return;
  }
  const std::string_view what = call.request[1];
  if (is_word(what, "COUNT")) return call.reply.integer(std::uint64_t{commands.size()});
  if (is_word(what, "INFO")) return command_info(call);
  if (is_word(what, "DOCS")) return call.reply.map(0);
  if (is_word(what, "LIST")) {
    call.reply.array(commands.size());
    for (const Command& command : commands)
      call.reply.bulk(to_lower(command.name));
    return;
  }
  call.reply.error(fmt::format(
      "ERR unknown subcommand '{}'. Try COMMAND COUNT, DOCS, INFO or LIST.", what.substr(0, 128)));
}

// Some clients ask for settings before they begin.
void ServerCommands::config(CommandCall& call) {
  const Request& request = call.request;
  if (!is_word(request[1], "GET") || request.size() < 3)
    return call.reply.error(
        "ERR the server's settings are options of trawl serve: only CONFIG GET");
  const ServerCounts counts = call.server.counts();
  const std::array<std::pair<std::string_view, std::string>, 8> settings{{
      {"appendonly", "yes"},
      {"databases", "1"},
      {"dir", call.store.options().directory.string()},
      {"maxclients", std::to_string(counts.max_clients)},
      {"maxmemory", std::to_string(call.store.options().max_memory)},
      {"maxmemory-policy", "noeviction"},
      {"port", std::to_string(counts.port)},
      {"save", ""},
  }};
  std::vector<const std::pair<std::string_view, std::string>*> asked;
  std::uint64_t work = 0;  // little: the patterns are cut
  for (const auto& setting : settings) {
    bool wanted = false;
    for (std::size_t i = 2; i < request.size(); ++i)
      wanted = wanted || glob_match(to_lower(request[i].substr(0, 64)), setting.first, work);
    if (wanted) asked.push_back(&setting);
  }
  call.reply.map(asked.size());
  for (const auto* setting : asked) {
    call.reply.bulk(setting->first);
    call.reply.bulk(setting->second);
  }
}

void ServerCommands::info(CommandCall& call) {
  const std::string text = info_text(call);
  call.reply.verbatim(call.request.size() == 1 ? text : chosen_sections(text, call.request));
}

void ServerCommands::save(CommandCall& call) {
  const auto saved = call.server.save();
  if (saved) return call.reply.simple("OK");
  call.reply.error(saved.error().code == ErrorCode::kInUse
                       ? "ERR Background save already in progress"
                       : fmt::format("ERR {}", saved.error().message));
}

void ServerCommands::bgsave(CommandCall& call) {
  if (call.request.size() > 2 ||
      (call.request.size() == 2 && !is_word(call.request[1], "SCHEDULE")))
    return call.reply.error(kSyntaxError);
  const auto begun = call.server.begin_save();
  if (begun) return call.reply.simple("Background saving started");
  call.reply.error(begun.error().code == ErrorCode::kInUse
                       ? "ERR Background save already in progress"
                       : fmt::format("ERR {}", begun.error().message));
}

void ServerCommands::shutdown(CommandCall& call) {
  bool save = true;
  for (std::size_t i = 1; i < call.request.size(); ++i) {
    if (is_word(call.request[i], "NOSAVE")) {
      save = false;
    } else if (!is_word(call.request[i], "SAVE") && !is_word(call.request[i], "NOW") &&
               !is_word(call.request[i], "FORCE")) {
      return call.reply.error(kSyntaxError);
    }
  }
  // As Redis, without a reply: the connection ends.
  call.client.closing = true;
  call.server.shut_down(save);
}

}  // namespace trawl::resp
