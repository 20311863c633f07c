// Command: what the server can be asked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "crawler/resp/client.h"
#include "crawler/resp/filter_store.h"
#include "crawler/resp/reply_writer.h"
#include "crawler/resp/request_parser.h"
#include "crawler/resp/server_control.h"

namespace trawl::resp {

// What clients need not say.
struct CommandDefaults {
  std::uint64_t capacity = 100;          // of a Bloom filter that BF.ADD makes
  std::uint64_t cuckoo_capacity = 1024;  // of a cuckoo filter that CF.ADD makes
  double rate = 0.01;                    // of both
  std::string password;                  // empty: none is needed
};

struct CommandCall {
  const Request& request;
  Client& client;
  ReplyWriter& reply;
  FilterStore& store;
  ServerControl& server;
  const CommandDefaults& defaults;
};

struct Command {
  static constexpr unsigned kWrite = 1;  // changes filters
  static constexpr unsigned kOpen = 2;   // allowed before the password
  static constexpr unsigned kAdmin = 4;

  std::string_view name;  // in capitals
  int arity;              // number of arguments with the name; -n: at least n
  unsigned flags;
  int first_key;  // 0: has none
  int last_key;   // -1: the last argument
  void (*run)(CommandCall& call);
};

// All, in alphabetical order.
std::span<const Command> all_commands();
// In any case; null if there is none.
const Command* find_command(std::string_view name);

}  // namespace trawl::resp
