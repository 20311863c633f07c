// Notes in memory that the process crashed: handlers of the signals that end a faulty program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trawl {

// While it lives, a crash of the process (SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE) stores its
// signal's number in `mark`. Nothing else about the crash changes: the signal then goes on to the
// handler that was there before (a sanitizer's, say) or to the default, with the same exit status,
// core dump and address. A signal that was ignored stays ignored and is not noted. The handlers are
// installed by the first of these and removed with the last. Thread-safe.
class CrashMark {
 public:
  // At most 64 at the same time; what is more is not noted.
  explicit CrashMark(std::atomic<std::uint32_t>& mark) noexcept;
  CrashMark(const CrashMark&) = delete;
  CrashMark& operator=(const CrashMark&) = delete;
  ~CrashMark();

 private:
  std::atomic<std::uint32_t>* const mark_;
};

// While it lives, the thread that made it handles signals on a stack of its own, so that a crash
// for want of stack is noted as well. Does nothing where the thread has such a stack.
class AlternateSignalStack {
 public:
  AlternateSignalStack() noexcept;
  AlternateSignalStack(const AlternateSignalStack&) = delete;
  AlternateSignalStack& operator=(const AlternateSignalStack&) = delete;
  ~AlternateSignalStack();

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

// "SIGSEGV".
std::string signal_name(int signal);

}  // namespace trawl
