#include "crawler/http/socket_poller.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <sys/epoll.h>

namespace trawl {

Result<SocketPoller> SocketPoller::create() {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll.get() < 0)
    return tl::unexpected(system_error(errno, "cannot set up the event loop of a fetcher thread"));
  return SocketPoller(std::move(epoll));
}

void SocketPoller::watch(int fd, Owner owner, bool read, bool write) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= entries_.size()) entries_.resize(index + 64);
  Entry& entry = entries_[index];
  entry.owner = owner;
  entry.wanted = static_cast<std::uint8_t>((read ? kRead : 0) | (write ? kWrite : 0));
  if (entry.wanted != entry.watched) tell(fd, entry, entry.wanted);
}

void SocketPoller::ignore(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index < entries_.size()) entries_[index].wanted = 0;
}

void SocketPoller::drop(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= entries_.size()) return;
  if (entries_[index].watched != 0) tell(fd, entries_[index], 0);
  entries_[index] = {};
}

void SocketPoller::closing(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index < entries_.size()) entries_[index] = {};
}

void SocketPoller::tell(int fd, Entry& entry, std::uint8_t mask) {
  epoll_event event{};
  event.data.fd = fd;
  if ((mask & kRead) != 0) event.events |= EPOLLIN;
  if ((mask & kWrite) != 0) event.events |= EPOLLOUT;
  const int operation = mask == 0            ? EPOLL_CTL_DEL
                        : entry.watched == 0 ? EPOLL_CTL_ADD
                                             : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0 && mask != 0) {
    // The descriptor number was reused, or the kernel knows it although we did not expect that.
    const int other = errno == EEXIST ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    ::epoll_ctl(epoll_.get(), other, fd, &event);
  }
  entry.watched = mask;
}

std::span<const SocketPoller::Event> SocketPoller::wait(std::chrono::milliseconds most) {
  std::array<epoll_event, 128> ready;
  const auto wait = std::clamp<std::int64_t>(most.count(), 0, 60'000);
  const int n = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()),
                             static_cast<int>(wait));
  events_.clear();
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const int fd = event.data.fd;
    Entry& entry = entries_[static_cast<std::size_t>(fd)];
    if (entry.wanted == 0) {  // for example the server closes a kept-alive connection
      tell(fd, entry, 0);
      continue;
    }
    events_.push_back({.fd = fd,
                       .owner = *entry.owner,
                       .readable = (event.events & EPOLLIN) != 0,
                       .writable = (event.events & EPOLLOUT) != 0,
                       .failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0});
  }
  return events_;
}

bool SocketPoller::wanted(const Event& event) const {
  const Entry& entry = entries_[static_cast<std::size_t>(event.fd)];
  return entry.owner == event.owner && entry.wanted != 0;
}

}  // namespace trawl
