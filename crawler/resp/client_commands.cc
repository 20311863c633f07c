// PING, ECHO, AUTH, HELLO, SELECT, CLIENT, QUIT
#include <chrono>

#include "crawler/resp/command_arguments.h"
#include "crawler/resp/command_handlers.h"

namespace trawl::resp {

namespace {

// Takes the same time wherever they differ.
bool equal_secrets(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(secret.empty() ? 0 : secret[i % secret.size()]);
  return difference == 0;
}

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// Returns an error, or nothing if the client may go on.
std::string_view log_in(CommandCall& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.defaults.password;
  if (user != "default") return kWrongPassword;
  if (!secret.empty() && !equal_secrets(password, secret)) return kWrongPassword;
  call.client.authenticated = true;
  return {};
}

bool is_printable_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

std::string client_line(const Client& client) {
  using std::chrono::duration_cast;
  const auto age =
      duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - client.since);
  return fmt::format("id={} addr={} name={} age={} db=0 resp={} cmd={} lib-name={}", client.id,
                     client.address, client.name, age.count(), client.version, client.last_command,
                     client.library);
}

void set_client_name(CommandCall& call, std::string_view name) {
  constexpr std::size_t kMost = 256;
  if (!is_printable_name(name) || name.size() > kMost) {
    return call.reply.error(
        "ERR Client names cannot contain spaces, newlines or special characters.");
  }
  call.client.name = std::string(name);
  call.reply.simple("OK");
}

void set_client_info(CommandCall& call) {
  constexpr std::size_t kMost = 256;
  const std::string_view value = call.request[3];
  if (!is_printable_name(value) || value.size() > kMost)
    return call.reply.error(
        "ERR lib-name and lib-ver cannot contain spaces or special characters.");
  if (is_word(call.request[2], "LIB-NAME")) {
    call.client.library = std::string(value);
  } else if (!is_word(call.request[2], "LIB-VER")) {
    return call.reply.error(fmt::format("ERR Unrecognized option '{}'", call.request[2]));
  }
  call.reply.simple("OK");
}

void list_clients(CommandCall& call) {
  std::string lines;
  call.server.for_each_client([&](const Client& client) { lines += client_line(client) + "\n"; });
  call.reply.verbatim(lines);
}

void say_hello(CommandCall& call) {
  call.reply.map(7);
  call.reply.bulk("server");
  call.reply.bulk("trawl");
  call.reply.bulk("version");
  call.reply.bulk(TRAWL_VERSION);
  call.reply.bulk("proto");
  call.reply.integer(std::int64_t{call.client.version});
  call.reply.bulk("id");
  call.reply.integer(call.client.id);
  call.reply.bulk("mode");
  call.reply.bulk("standalone");
  call.reply.bulk("role");
  call.reply.bulk("master");
  call.reply.bulk("modules");
  call.reply.array(0);
}

}  // namespace

void ClientCommands::ping(CommandCall& call) {
  if (call.request.size() > 2) return call.reply.error(wrong_arity("PING"));
  if (call.request.size() == 2) return call.reply.bulk(call.request[1]);
  call.reply.simple("PONG");
}

void ClientCommands::echo(CommandCall& call) {
  call.reply.bulk(call.request[1]);
}

void ClientCommands::auth(CommandCall& call) {
  const std::size_t words = call.request.size();
  if (words > 3) return call.reply.error(kSyntaxError);
  if (words == 2 && call.defaults.password.empty()) {
    return call.reply.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view wrong =
      log_in(call, words == 3 ? call.request[1] : "default", call.request[words - 1]);
  wrong.empty() ? call.reply.simple("OK") : call.reply.error(wrong);
}

void ClientCommands::hello(CommandCall& call) {
  const Request& request = call.request;
  int version = call.client.version;
  if (request.size() > 1) {
    const auto parsed = parse_number<std::int64_t>(request[1]);
    if (!parsed) return call.reply.error("ERR Protocol version is not an integer or out of range");
    if (*parsed != 2 && *parsed != 3)
      return call.reply.error("NOPROTO unsupported protocol version");
    version = static_cast<int>(*parsed);
  }
  std::string_view name;
  for (std::size_t i = 2; i < request.size();) {
    if (is_word(request[i], "AUTH") && i + 2 < request.size()) {
      const std::string_view wrong = log_in(call, request[i + 1], request[i + 2]);
      if (!wrong.empty()) return call.reply.error(wrong);
      i += 3;
    } else if (is_word(request[i], "SETNAME") && i + 1 < request.size() &&
               is_printable_name(request[i + 1]) && request[i + 1].size() <= 256) {
      name = request[i + 1];
      i += 2;
    } else {
      return call.reply.error(fmt::format("ERR Syntax error in HELLO option '{}'", request[i]));
    }
  }
  if (!call.client.authenticated) {
    return call.reply.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  if (!name.empty()) call.client.name = std::string(name);
  call.client.version = version;
  call.reply = ReplyWriter(call.client.out, version);
  say_hello(call);
}

void ClientCommands::select(CommandCall& call) {
  const auto number = parse_number<std::int64_t>(call.request[1]);
  if (!number) return call.reply.error(kNotInteger);
  if (*number != 0) return call.reply.error("ERR DB index is out of range");
  call.reply.simple("OK");
}

void ClientCommands::client(CommandCall& call) {
  const Request& request = call.request;
  const std::string_view what = request[1];
  const std::size_t words = request.size();
  if (is_word(what, "ID") && words == 2) return call.reply.integer(call.client.id);
  if (is_word(what, "GETNAME") && words == 2) {
    return call.client.name.empty() ? call.reply.null() : call.reply.bulk(call.client.name);
  }
  if (is_word(what, "SETNAME") && words == 3) return set_client_name(call, request[2]);
  if (is_word(what, "SETINFO") && words == 4) return set_client_info(call);
  if (is_word(what, "INFO") && words == 2)
    return call.reply.verbatim(client_line(call.client) + "\n");
  if (is_word(what, "LIST")) return list_clients(call);
  const bool harmless = is_word(what, "NO-EVICT") || is_word(what, "NO-TOUCH");
  if (harmless && words == 3) return call.reply.simple("OK");
  if (is_word(what, "REPLY") && words == 3 && is_word(request[2], "ON"))
    return call.reply.simple("OK");
  call.reply.error(
      fmt::format("ERR Unknown subcommand or wrong number of arguments for '{}'. Try "
                  "CLIENT ID, GETNAME, SETNAME, SETINFO, INFO or LIST.",
                  what.substr(0, 128)));
}

void ClientCommands::quit(CommandCall& call) {
  call.reply.simple("OK");
  call.client.closing = true;
}

}  // namespace trawl::resp
