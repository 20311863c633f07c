// A signal handler may call only async-signal-safe functions and use only lock-free atomics. This
// one stores the signal's number, restores the action that it replaced, and makes the signal happen
// again. A processor fault repeats when the handler returns, since the instruction is executed
// again. A signal that was sent is sent again with the same siginfo_t. The former handler, or the
// kernel, then sees what it would have seen without this handler.
#include "crawler/crash/crash_signal_recorder.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mutex.h"

namespace trawl {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

std::array<std::atomic<std::atomic<std::uint32_t>*>, 64> marks{};
std::array<struct sigaction, kSignals.size()> former{};
Mutex installing;
std::size_t users TRAWL_GUARDED_BY(installing) = 0;  // number of CrashMarks

void send_again(int signal, siginfo_t* info) {
  // A raw system call, since no C library function keeps the siginfo_t. The signal is blocked until
  // the handler returns.
  const auto thread = ::syscall(SYS_gettid);
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, signal, info) != 0)
    ::syscall(SYS_tgkill, ::getpid(), thread, signal);
}

void on_crash(int signal, siginfo_t* info, void*) {
  for (const auto& mark : marks) {
    // acquire: pairs with the constructor of CrashSignalRecorder, so that the mark is initialised.
    if (auto* const at = mark.load(std::memory_order_acquire)) {
      std::uint32_t none = 0;  // only the first signal is stored
      at->compare_exchange_strong(none, static_cast<std::uint32_t>(signal),
                                  std::memory_order_relaxed);
    }
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) ::sigaction(signal, &former[i], nullptr);
  }
  // Not a processor fault: sent by kill(), raise() or similar.
  if (info->si_code <= 0) send_again(signal, info);
}

void install() TRAWL_REQUIRES(installing) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    // Stored before the handler may run.
    if (::sigaction(kSignals[i], nullptr, &former[i]) != 0) continue;
    const bool ignored = (former[i].sa_flags & SA_SIGINFO) == 0 && former[i].sa_handler == SIG_IGN;
    if (ignored) continue;
    struct sigaction action {};
    action.sa_sigaction = &on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

// Handlers that were installed over ours stay.
void remove() TRAWL_REQUIRES(installing) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    if (::sigaction(kSignals[i], nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_crash)
      ::sigaction(kSignals[i], &former[i], nullptr);
  }
}

void begin_use() {
  const MutexLock lock(installing);
  if (users++ == 0) install();
}

void end_use() {
  const MutexLock lock(installing);
  if (--users == 0) remove();
}

}  // namespace

CrashSignalRecorder::CrashSignalRecorder(std::atomic<std::uint32_t>& mark) noexcept : mark_(&mark) {
  static_assert(std::atomic<std::atomic<std::uint32_t>*>::is_always_lock_free);
  for (auto& place : marks) {
    std::atomic<std::uint32_t>* none = nullptr;
    // release: pairs with the handler's acquire.
    if (place.compare_exchange_strong(none, mark_, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      break;
    }
  }
  begin_use();
}

CrashSignalRecorder::~CrashSignalRecorder() {
  end_use();
  for (auto& place : marks) {
    std::atomic<std::uint32_t>* mine = mark_;
    if (place.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed)) return;
  }
}

AlternateSignalStack::AlternateSignalStack() noexcept {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const long least = ::sysconf(_SC_SIGSTKSZ);
  const std::size_t size = std::max<std::size_t>(64 << 10, least > 0 ? std::size_t(least) : 0);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = size};
  if (::sigaltstack(&stack, nullptr) != 0) {
    ::munmap(memory, size);
    return;
  }
  memory_ = memory;
  size_ = size;
}

AlternateSignalStack::~AlternateSignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, size_);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace trawl
