// Server: answers Redis' protocol on a port, on one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/listen_address.h"
#include "crawler/resp/connection.h"
#include "crawler/resp/dispatcher.h"
#include "crawler/resp/filter_store.h"
#include "crawler/resp/log_flusher.h"
#include "crawler/resp/server_control.h"

namespace trawl::resp {

struct ServerOptions {
  ListenAddress address;
  StoreOptions store;
  CommandDefaults defaults;
  std::set<std::string, std::less<>> disabled;  // commands, in capitals
  RequestLimits requests;
  std::size_t max_clients = 16'384;
  bool sync_before_reply = false;  // --durability log
  std::chrono::milliseconds interval{1000};
  std::uint64_t client_memory = 256 << 20;  // of all requests and replies
  std::function<void(std::string_view)> note = [](std::string_view) {};  // thread-safe
};

class Server final : public ServerControl {
 public:
  // Opens the directory and listens. Errors: those of FilterStore::open(); kIo, kInUse for the
  // address.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  ~Server() override;

  std::uint16_t port() const noexcept { return port_; }
  const FilterStore& filters() const noexcept { return *store_; }
  // Serves until `stop` can be read, or SHUTDOWN. Errors: kIo, kNoSpace if the end could not be
  // made durable.
  Result<void> run(int stop);

  ServerCounts counts() const override;
  void for_each_client(const std::function<void(const Client&)>& use) const override;
  void shut_down(bool save) override;
  Result<void> save() override;
  Result<void> begin_save() override;
  std::optional<std::string> refusal() override;

 private:
  using Clock = std::chrono::steady_clock;
  // A checkpoint that a thread writes.
  struct Saving {
    explicit Saving(Checkpoint of) : checkpoint(std::move(of)) {}
    Checkpoint checkpoint;
    Result<void> result;
    std::atomic<bool> done{false};
    std::thread thread;
  };

  Server(ServerOptions options, std::unique_ptr<FilterStore> store);
  Result<void> listen();
  Result<void> watch(int descriptor);
  void raise_descriptor_limit();

  void turn(int stop);
  void accept_clients();
  void refuse(FileDescriptor socket);
  void add_client(FileDescriptor socket, std::string address);
  void handle(Connection& connection, std::uint32_t events);
  void touch(Connection& connection);
  void process(Connection& connection);
  void end_turn();
  void make_durable();
  void fail_turn(const std::string& why);
  void settle(Connection& connection);
  void account(Connection& connection);
  void limit_client_memory();
  void close_for_memory(Connection& connection);
  void close(Connection& connection);
  void end_drained();

  void look_after_saving();
  void finish_saving();
  Result<void> end();

  ServerOptions options_;
  std::unique_ptr<FilterStore> store_;
  Dispatcher dispatcher_;
  BufferPool pool_;
  FileDescriptor listener_;
  FileDescriptor epoll_;
  FileDescriptor wake_;   // a checkpoint is written
  FileDescriptor spare_;  // given up to refuse a client when descriptors are used up
  std::uint16_t port_ = 0;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> touched_;
  std::vector<Connection*> again_;                       // have requests that were put off
  std::vector<std::pair<int, std::uint64_t>> draining_;  // sockets and clients, oldest first
  std::uint64_t turn_sequence_ = 0;                      // of the log, when the turn began
  std::unique_ptr<LogFlusher> flusher_;
  std::unique_ptr<Saving> saving_;
  Clock::time_point not_before_{};  // the next checkpoint: after a failure
  Clock::time_point retry_log_{};
  bool stopping_ = false;
  bool save_at_end_ = true;
  const Clock::time_point began_ = Clock::now();
  ServerCounts counts_;
};

}  // namespace trawl::resp
