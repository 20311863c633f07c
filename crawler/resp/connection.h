// Connection: a client's socket, with what was read from it and what is to be sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_io.h"
#include "crawler/resp/client.h"
#include "crawler/resp/dispatcher.h"
#include "crawler/resp/request_parser.h"

namespace trawl::resp {

// Memory that connections use while they have something in it.
class BufferPool {
 public:
  static constexpr std::size_t kInputBytes = 64 << 10;
  std::vector<char> take_input();
  void give_input(std::vector<char> buffer);
  std::string take_output();
  void give_output(std::string buffer);

 private:
  static constexpr std::size_t kKept = 64;
  std::vector<std::vector<char>> inputs_;
  std::vector<std::string> outputs_;
};

class Connection {
 public:
  enum class Read : std::uint8_t { kSome, kNothing, kEnd };

  Connection(FileDescriptor socket, const RequestLimits& limits, BufferPool& pool);
  ~Connection();

  int socket() const noexcept { return socket_.get(); }
  Client& client() noexcept { return client_; }
  const Client& client() const noexcept { return client_; }

  // Reads once.
  Read read();
  // Carries out the requests that are there, until there is much to send. Sets http() if they are
  // HTTP's.
  void process(Dispatcher& dispatcher);
  // Sends what is ready. False if the connection is broken.
  bool write();
  // Ends the connection with an error reply, and forgets what it has sent.
  void refuse(std::string_view error);
  // Ends the connection as soon as the client has read the last reply: what it still sends is
  // thrown away.
  void drain();

  // Whether it takes no more requests until the client has read replies.
  bool is_stalled() const noexcept { return unsent() >= kMuchOutput; }
  // Whether it has requests that were not looked at because it was stalled. No more are read then.
  bool has_unread() const noexcept { return more_ && !client_.closing; }
  // Whether they can be looked at now.
  bool has_more() const noexcept { return has_unread() && !is_stalled(); }
  std::size_t unsent() const noexcept { return client_.out.size() - client_.sent; }
  std::size_t memory() const noexcept;
  bool http() const noexcept { return http_; }

  // Of the server: events that are waited for, whether it was looked at in this turn, and more.
  std::uint32_t interest = 0;
  bool touched = false;
  bool dead = false;
  bool draining = false;
  std::chrono::steady_clock::time_point drain_until = {};
  std::size_t accounted = 0;

 private:
  static constexpr std::size_t kMuchOutput = 256 << 10;
  void make_space();
  void release();

  FileDescriptor socket_;
  BufferPool& pool_;
  const RequestLimits limits_;
  RequestParser parser_;
  Client client_;
  std::vector<char> input_;
  std::size_t begin_ = 0;  // of the bytes of requests in it
  std::size_t end_ = 0;
  bool more_ = false;
  bool http_ = false;
};

}  // namespace trawl::resp
