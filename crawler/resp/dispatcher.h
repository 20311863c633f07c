// Dispatcher: carries out requests, and single adds and lookups of a pipeline together.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "crawler/resp/command.h"

namespace trawl::resp {

class Dispatcher {
 public:
  // `disabled`: names of commands, in capitals. All must outlive the dispatcher.
  Dispatcher(FilterStore& store, ServerControl& server, const CommandDefaults& defaults,
             std::set<std::string, std::less<>> disabled);

  // Appends the reply to the client's, or puts it off until flush().
  void execute(Client& client, const Request& request);
  // Appends what was put off. Must be called before another client's requests.
  void flush();

  std::uint64_t commands() const noexcept { return commands_; }

 private:
  enum class BatchKind : std::uint8_t { kAdd, kFind };
  static constexpr std::size_t kMostKeys = 1024;

  void run(Client& client, const Request& request, const Command& command);
  bool batch(Client& client, const Request& request, BatchKind kind);
  void flush_adds(ReplyWriter& reply);
  std::string unknown_command(const Request& request) const;

  FilterStore& store_;
  ServerControl& server_;
  const CommandDefaults& defaults_;
  std::set<std::string, std::less<>> disabled_;
  bool may_add_in_batches_;
  bool may_find_in_batches_;
  std::uint64_t commands_ = 0;

  // What was put off: keys of one client for one filter.
  Client* client_ = nullptr;
  ServedFilter* filter_ = nullptr;
  BatchKind kind_ = BatchKind::kAdd;
  std::size_t keys_waiting_ = 0;
  std::array<Fingerprint, kMostKeys> keys_;
  std::array<bool, kMostKeys> answers_;
};

}  // namespace trawl::resp
