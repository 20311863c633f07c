// OneThread and OneAtATime: asserts that a class which takes no lock is used as it must be.
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

// A member of a class whose calls are all of one thread: that of the first call.
class OneThread {
 public:
  OneThread() = default;
  // What is copied or moved is bound anew.
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

// A member of a class that threads may use one after the other. Relaxed: what orders their calls is
// the caller's.
class OneAtATime {
 public:
  OneAtATime() = default;
  OneAtATime(const OneAtATime&) noexcept {}
  OneAtATime& operator=(const OneAtATime&) noexcept { return *this; }

  // To be held during a call; calls of the same thread may nest.
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
