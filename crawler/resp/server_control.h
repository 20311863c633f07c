// ServerControl: what commands ask of the server around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "crawler/resp/client.h"

namespace trawl::resp {

struct ServerCounts {
  std::size_t clients = 0;
  std::size_t max_clients = 0;
  std::uint64_t connections = 0;  // accepted so far
  std::uint64_t rejected = 0;
  std::uint64_t commands = 0;
  std::uint64_t buffer_bytes = 0;  // of requests and replies
  std::uint16_t port = 0;
  std::uint64_t seconds = 0;   // since the start
  std::int64_t last_save = 0;  // seconds since 1970
  bool last_save_failed = false;
};

class ServerControl {
 public:
  virtual ~ServerControl() = default;

  virtual ServerCounts counts() const = 0;
  virtual void for_each_client(const std::function<void(const Client&)>& use) const = 0;
  // Ends the server after this turn; with a checkpoint if `save`.
  virtual void shut_down(bool save) = 0;
  // Writes a checkpoint while everybody waits. Errors: kInUse if one is being written.
  virtual Result<void> save() = 0;
  virtual Result<void> begin_save() = 0;
  // Why changes are refused now: the log cannot be written.
  virtual std::optional<std::string> refusal() = 0;
};

}  // namespace trawl::resp
