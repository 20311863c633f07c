// OneThread and OneAtATime: asserts for classes without locks that must not be used concurrently.
#pragma once

#include <atomic>
#include <cassert>
#include <thread>

namespace trawl {

#ifdef NDEBUG

class OneThread {
 public:
  void check() const noexcept {}
};

class OneAtATime {
 public:
  class Use {
   public:
    explicit Use(const OneAtATime&) noexcept {}
    ~Use() {}
  };
};

#else

// A member of a class that only one thread may use: that of the first call.
class OneThread {
 public:
  OneThread() = default;
  // A copy is not bound to a thread.
  OneThread(const OneThread&) noexcept {}
  OneThread& operator=(const OneThread&) noexcept { return *this; }

  void check() const noexcept {
    const std::thread::id self = std::this_thread::get_id();
    std::thread::id bound;
    [[maybe_unused]] const bool first =
        thread_.compare_exchange_strong(bound, self, std::memory_order_relaxed);
    assert((first || bound == self) && "used by another thread than before");
  }

 private:
  mutable std::atomic<std::thread::id> thread_;
};

// A member of a class that several threads may use, but one at a time. Relaxed: the callers order
// their calls.
class OneAtATime {
 public:
  OneAtATime() = default;
  OneAtATime(const OneAtATime&) noexcept {}
  OneAtATime& operator=(const OneAtATime&) noexcept { return *this; }

  // Held during a call; calls of the same thread may nest.
  class Use {
   public:
    explicit Use(const OneAtATime& object) noexcept : object_(object) {
      const std::thread::id self = std::this_thread::get_id();
      std::thread::id user;
      outermost_ = object_.user_.compare_exchange_strong(user, self, std::memory_order_relaxed);
      assert((outermost_ || user == self) && "used by two threads at the same time");
    }
    ~Use() {
      if (outermost_) object_.user_.store({}, std::memory_order_relaxed);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const OneAtATime& object_;
    bool outermost_;
  };

 private:
  mutable std::atomic<std::thread::id> user_;
};

#endif

}  // namespace trawl
