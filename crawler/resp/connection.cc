#include "crawler/resp/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

namespace trawl::resp {

std::vector<char> BufferPool::take_input() {
  if (inputs_.empty()) return std::vector<char>(kInputBytes);
  auto buffer = std::move(inputs_.back());
  inputs_.pop_back();
  return buffer;
}

void BufferPool::give_input(std::vector<char> buffer) {
  if (buffer.size() == kInputBytes && inputs_.size() < kKept) inputs_.push_back(std::move(buffer));
}

std::string BufferPool::take_output() {
  if (outputs_.empty()) return {};
  auto buffer = std::move(outputs_.back());
  outputs_.pop_back();
  return buffer;
}

void BufferPool::give_output(std::string buffer) {
  // So that one who gets it for a small reply does not seem to use much.
  constexpr std::size_t kLargest = 64 << 10;
  buffer.clear();
  if (buffer.capacity() <= kLargest && outputs_.size() < kKept)
    outputs_.push_back(std::move(buffer));
}

Connection::Connection(FileDescriptor socket, const RequestLimits& limits, BufferPool& pool)
    : socket_(std::move(socket)), pool_(pool), limits_(limits), parser_(limits) {}

Connection::~Connection() {
  pool_.give_input(std::move(input_));
  pool_.give_output(std::move(client_.out));
}

std::size_t Connection::memory() const noexcept {
  return input_.capacity() + client_.out.capacity() + parser_.memory();
}

// The buffer grows with what has arrived, never with what a client says will.
void Connection::make_space() {
  if (input_.size() < BufferPool::kInputBytes) {
    auto buffer = pool_.take_input();
    std::copy(input_.begin() + static_cast<std::ptrdiff_t>(begin_),
              input_.begin() + static_cast<std::ptrdiff_t>(end_), buffer.begin());
    input_ = std::move(buffer);
    end_ -= begin_;
    begin_ = 0;
  }
  if (begin_ == end_) begin_ = end_ = 0;
  if (input_.size() - end_ >= input_.size() / 4) return;
  if (begin_ > 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (input_.size() - end_ < input_.size() / 2)
    input_.resize(std::min(2 * input_.size(), limits_.request + BufferPool::kInputBytes));
}

Connection::Read Connection::read() {
  make_space();
  for (;;) {
    const ssize_t n = ::recv(socket(), input_.data() + end_, input_.size() - end_, 0);
    if (n > 0) {
      if (draining) {  // thrown away
        release();
        return Read::kSome;
      }
      end_ += static_cast<std::size_t>(n);
      more_ = true;
      return Read::kSome;
    }
    if (n == 0) return Read::kEnd;
    if (errno == EINTR) continue;
    release();
    return errno == EAGAIN || errno == EWOULDBLOCK ? Read::kNothing : Read::kEnd;
  }
}

void Connection::process(Dispatcher& dispatcher) {
  if (client_.out.empty()) {
    pool_.give_output(std::move(client_.out));
    client_.out = pool_.take_output();
  }
  while (begin_ < end_ && !client_.closing && !is_stalled()) {
    parser_.set_restricted(!client_.authenticated);
    const auto outcome = parser_.parse({input_.data() + begin_, end_ - begin_});
    if (outcome == RequestParser::Outcome::kIncomplete) {
      more_ = false;
      break;
    }
    if (outcome == RequestParser::Outcome::kRequest) {
      dispatcher.execute(client_, parser_.request());
      begin_ += parser_.consumed();
      parser_.next();
      continue;
    }
    dispatcher.flush();
    http_ = outcome == RequestParser::Outcome::kHttp;
    if (!http_) {
      ReplyWriter(client_.out, client_.version).error(parser_.error());
      ++client_.turn_commands;
    }
    client_.closing = true;
  }
  dispatcher.flush();
  if (client_.closing) begin_ = end_;
  if (begin_ == end_) more_ = false;
  if (!more_) release();
}

// A client with a small part of a request must not keep a whole buffer: there may be thousands.
void Connection::release() {
  constexpr std::size_t kSmall = BufferPool::kInputBytes / 4;
  const std::size_t left = end_ - begin_;
  if (input_.size() < BufferPool::kInputBytes || left > kSmall) return;
  const auto rest = input_.begin() + static_cast<std::ptrdiff_t>(begin_);
  std::vector<char> small(rest, rest + static_cast<std::ptrdiff_t>(left));
  begin_ = 0;
  end_ = left;
  pool_.give_input(std::move(input_));
  input_ = std::move(small);
}

bool Connection::write() {
  while (unsent() > 0) {
    const ssize_t n = ::send(socket(), client_.out.data() + client_.sent, unsent(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      // What was sent is kept no longer than a slow client needs.
      client_.out.erase(0, client_.sent);
      client_.sent = 0;
      return true;
    }
    client_.sent += static_cast<std::size_t>(n);
  }
  client_.sent = 0;
  pool_.give_output(std::move(client_.out));
  client_.out = {};
  return true;
}

void Connection::refuse(std::string_view error) {
  ++client_.turn_commands;
  ReplyWriter(client_.out, client_.version).error(error);
  client_.out.shrink_to_fit();
  client_.closing = true;
  more_ = false;
  parser_.next();
  input_ = std::vector<char>();
  begin_ = end_ = 0;
}

void Connection::drain() {
  constexpr std::chrono::seconds kLongest{2};
  draining = true;
  drain_until = std::chrono::steady_clock::now() + kLongest;
  ::shutdown(socket(), SHUT_WR);
}

}  // namespace trawl::resp
