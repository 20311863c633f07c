// SocketWatch: what is awaited of which descriptors, on an epoll instance.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trawl/result.h"

#include "base/file_io.h"

struct epoll_event;

namespace trawl {

// libcurl stops watching a connection after each response, and watches it again for the next. The
// kernel is told only when that makes a difference.
class SocketWatch {
 public:
  enum class Owner : std::uint8_t { kCurl, kResolver, kWakeup };
  struct Event {
    int fd;
    Owner owner;
    bool readable;
    bool writable;
    bool failed;
  };

  static Result<SocketWatch> create();

  // What to watch a descriptor for from now on.
  void watch(int fd, Owner owner, bool read, bool write);
  // Nothing is awaited of it for now. Should something happen, the kernel is told then.
  void ignore(int fd);
  // Nothing ever will be.
  void drop(int fd);
  // It is about to be closed by its only owner, with which the kernel forgets it as well.
  void closing(int fd);

  // Waits for events, which stay until the next call.
  std::span<const Event> wait(std::chrono::milliseconds most);
  // Whether the event is still of interest, with those before it handled.
  bool wanted(const Event& event) const;

 private:
  struct Entry {
    std::optional<Owner> owner;  // of one that was watched
    std::uint8_t wanted = 0;     // kRead, kWrite
    std::uint8_t watched = 0;    // what the kernel knows
  };
  static constexpr std::uint8_t kRead = 1;
  static constexpr std::uint8_t kWrite = 2;

  explicit SocketWatch(FileDescriptor epoll) : epoll_(std::move(epoll)) {}
  void tell(int fd, Entry& entry, std::uint8_t mask);

  FileDescriptor epoll_;
  std::vector<Entry> entries_;  // by descriptor
  std::vector<Event> events_;
};

}  // namespace trawl
