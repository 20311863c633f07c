// Client: what the server knows of a connection, apart from its socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trawl::resp {

struct Client {
  std::uint64_t id = 0;
  std::string address;
  std::string name;     // CLIENT SETNAME
  std::string library;  // CLIENT SETINFO
  int version = 2;      // of the protocol
  bool authenticated = false;
  bool closing = false;  // once its replies are sent
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  std::string_view last_command;  // its name in the table

  std::string out;       // replies
  std::size_t sent = 0;  // of them
  // Replies of this turn of the loop, which wait for the log: where they begin, and their number.
  std::size_t turn_begin = 0;
  std::size_t turn_commands = 0;
};

}  // namespace trawl::resp
