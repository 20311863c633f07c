// Opened: an open frontier, as a Frontier object and its leases share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "trawl/frontier.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

// The longest time that a call takes, in seconds.
inline constexpr double kYear = 365.0 * 24 * 3600;

// An eventfd that the frontier's callback signals.
class WakeFd {
 public:
  WakeFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~WakeFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  int get() const { return fd_; }
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
  }

 private:
  int fd_;
};

// What a Frontier object and its leases share.
struct Opened {
  std::unique_ptr<Frontier> frontier;
  std::uint32_t generation = fork_generation();
  std::shared_ptr<const WakeFd> wake;  // guarded by the GIL
  // Calls that offered URLs without waiting, and how many of them were flushed. Guarded by the GIL.
  std::uint64_t offers = 0, flushed_offers = 0;
};

template <class Object>
std::shared_ptr<Opened> opened_of(PyObject* self) {
  std::shared_ptr<Opened>* const opened = reinterpret_cast<Object*>(self)->opened;
  if (opened == nullptr) raise_unmade(self);
  if ((*opened)->generation != fork_generation()) {
    set_forked();
    throw PythonError();
  }
  return *opened;
}

// Calls `call(frontier)` while other threads run.
template <class Call>
auto without_gil(Opened& opened, Call&& call) {
  using Returned = decltype(call(*opened.frontier));
  std::optional<Returned> result;
  {
    const WithoutGil others_run;
    result.emplace(call(*opened.frontier));
  }
  return value_of(std::move(*result));
}

// Frees an object, and the frontier with the last one.
template <class Object>
void free_with_opened(PyObject* self) {
  auto* const object = reinterpret_cast<Object*>(self);
  if (object->opened != nullptr) {
    std::unique_ptr<std::shared_ptr<Opened>> last(object->opened);
    if ((*last)->generation == fork_generation()) {
      const WithoutGil others_run;
      last.reset();
    } else {
      (void)last.release();
    }
  }
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

}  // namespace trawl::python
