// CrashSignalRecorder: signal handlers that note in memory that the process crashed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trawl {

// While a CrashSignalRecorder exists, a crash of the process (SIGSEGV, SIGBUS, SIGABRT, SIGILL,
// SIGFPE) stores its signal number in `mark`. Nothing else about the crash changes: the signal is
// then passed to the previous handler, for example a sanitizer's, or to the default action, with
// the same exit status, core dump and address. A signal that was ignored stays ignored and is not
// noted. The handlers are installed by the first CrashSignalRecorder and removed with the last.
// Thread-safe.
class CrashSignalRecorder {
 public:
  // At most 64 at the same time; further marks are not set.
  explicit CrashSignalRecorder(std::atomic<std::uint32_t>& mark) noexcept;
  CrashSignalRecorder(const CrashSignalRecorder&) = delete;
  CrashSignalRecorder& operator=(const CrashSignalRecorder&) = delete;
  ~CrashSignalRecorder();

 private:
  std::atomic<std::uint32_t>* const mark_;
};

// While it exists, its thread handles signals on a separate stack, so that a stack overflow is
// noted too. Does nothing if the thread already has such a stack.
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
