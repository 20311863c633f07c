// SocketPoller: watches descriptors for events, with epoll.
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

// libcurl stops watching a connection after each response, and watches it again for the next. This
// class calls epoll_ctl() only if that makes a difference.
class SocketPoller {
 public:
  enum class Owner : std::uint8_t { kCurl, kResolver, kWakeup };
  struct Event {
    int fd;
    Owner owner;
    bool readable;
    bool writable;
    bool failed;
  };

  static Result<SocketPoller> create();

  // Sets what to watch a descriptor for.
  void watch(int fd, Owner owner, bool read, bool write);
  // Ignores events of the descriptor for now. epoll_ctl() is called only if an event occurs.
  void ignore(int fd);
  // Stops watching the descriptor.
  void drop(int fd);
  // Call before the only owner closes the descriptor, which also removes it from epoll.
  void closing(int fd);

  // Waits for events, which are valid until the next call.
  std::span<const Event> wait(std::chrono::milliseconds most);
  // Whether the event is still of interest after the events before it were handled.
  bool wanted(const Event& event) const;

 private:
  struct Entry {
    std::optional<Owner> owner;  // of one that was watched
    std::uint8_t wanted = 0;     // kRead, kWrite
    std::uint8_t watched = 0;    // what epoll watches for
  };
  static constexpr std::uint8_t kRead = 1;
  static constexpr std::uint8_t kWrite = 2;

  explicit SocketPoller(FileDescriptor epoll) : epoll_(std::move(epoll)) {}
  void tell(int fd, Entry& entry, std::uint8_t mask);

  FileDescriptor epoll_;
  std::vector<Entry> entries_;  // by descriptor
  std::vector<Event> events_;
};

}  // namespace trawl
