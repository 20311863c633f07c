#include "crawler/crash/crash_signal_recorder.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tests/crawler/child_process.h"

namespace trawl {
namespace {

using test::died_of;
using test::ended_by;
using test::kSanitized;

// A mark that the test sees after its child is gone.
class CrashSignals : public ::testing::Test {
 protected:
  CrashSignals() {
    void* const memory =
        ::mmap(nullptr, sizeof(*mark_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    mark_ = new (memory) std::atomic<std::uint32_t>(0);
  }
  ~CrashSignals() override { ::munmap(mark_, sizeof(*mark_)); }

  int marked() const { return static_cast<int>(mark_->load()); }

  std::atomic<std::uint32_t>* mark_ = nullptr;
};

__attribute__((noinline)) void write_to(volatile int* place) {
  *place = 1;
}

__attribute__((noinline)) int deep(const volatile int& depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  const volatile int deeper = depth + 1;
  return depth < 0 ? room[0] : deep(deeper) + room[0];
}

TEST_F(CrashSignals, EachIsNotedAndEndsTheProcessAsBefore) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) {
    mark_->store(0);
    const int status = ended_by([&] {
      const CrashSignalRecorder mark(*mark_);
      std::raise(signal);
    });
    EXPECT_EQ(marked(), signal);
    EXPECT_TRUE(died_of(status, signal)) << signal << ": " << status;
  }
}

TEST_F(CrashSignals, SentFromOutside) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const CrashSignalRecorder mark(*mark_);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;)
      ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGSEGV);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(marked(), SIGSEGV);
  EXPECT_TRUE(died_of(status, SIGSEGV)) << status;
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(CrashSignals, FaultsOfTheProcessor) {
  int status = ended_by([&] {
    const CrashSignalRecorder mark(*mark_);
    write_to(reinterpret_cast<volatile int*>(8));
  });
  EXPECT_EQ(marked(), SIGSEGV);
  EXPECT_TRUE(died_of(status, SIGSEGV)) << status;
  mark_->store(0);
  status = ended_by([&] {
    const CrashSignalRecorder mark(*mark_);
    std::abort();
  });
  EXPECT_EQ(marked(), SIGABRT);
  EXPECT_TRUE(died_of(status, SIGABRT)) << status;
  mark_->store(0);
  status = ended_by([&] {  // a mapped file that is cut off
    const CrashSignalRecorder mark(*mark_);
    FILE* const file = std::tmpfile();
    void* const mapped =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
    write_to(static_cast<int*>(mapped));
  });
  EXPECT_EQ(marked(), SIGBUS);
  EXPECT_TRUE(died_of(status, SIGBUS)) << status;
}

TEST_F(CrashSignals, TheProcessThatIsKilledOrEndsHasNoMark) {
  int status = ended_by([&] {
    const CrashSignalRecorder mark(*mark_);
    std::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(marked(), 0);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    status = ended_by([&] {
      const CrashSignalRecorder mark(*mark_);
      std::raise(signal);
    });
    EXPECT_EQ(marked(), 0) << signal;
  }
  status = ended_by([&] { const CrashSignalRecorder mark(*mark_); });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(marked(), 0);
}

void exit_with_address(int, siginfo_t* info, void*) {
  ::_exit(info->si_addr == reinterpret_cast<void*>(8) ? 42 : 43);
}

void exit_with_code(int, siginfo_t* info, void*) {
  ::_exit(info->si_code == SI_TKILL || info->si_code == SI_USER ? 44 : 45);
}

TEST_F(CrashSignals, TheFormerHandlerRunsWithWhatTheKernelSaid) {
  const auto with_handler = [&](void (*handler)(int, siginfo_t*, void*), auto crash) {
    return ended_by([&] {
      struct sigaction action {};
      action.sa_sigaction = handler;
      action.sa_flags = SA_SIGINFO;
      ::sigaction(SIGSEGV, &action, nullptr);
      const CrashSignalRecorder mark(*mark_);
      crash();
    });
  };
  int status =
      with_handler(&exit_with_address, [] { write_to(reinterpret_cast<volatile int*>(8)); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  EXPECT_EQ(marked(), SIGSEGV);
  mark_->store(0);
  status = with_handler(&exit_with_code, [] { std::raise(SIGSEGV); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 44) << status;
  EXPECT_EQ(marked(), SIGSEGV);
}

TEST_F(CrashSignals, ASignalThatWasIgnoredStaysSo) {
  const int status = ended_by([&] {
    std::signal(SIGFPE, SIG_IGN);
    const CrashSignalRecorder mark(*mark_);
    std::raise(SIGFPE);
    ::_exit(7);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(marked(), 0);
}

TEST_F(CrashSignals, AMarkThatIsGoneIsNotTouched) {
  ended_by([&] {
    { const CrashSignalRecorder mark(*mark_); }
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(marked(), 0);
}

TEST_F(CrashSignals, EachOfSeveralMarks) {
  void* const memory =
      ::mmap(nullptr, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const other = new (memory) std::atomic<std::uint32_t>(0);
  ended_by([&] {
    const CrashSignalRecorder one(*mark_);
    const CrashSignalRecorder two(*other);
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(marked(), SIGSEGV);
  EXPECT_EQ(other->load(), static_cast<std::uint32_t>(SIGSEGV));
  ::munmap(memory, 64);
}

TEST_F(CrashSignals, AThreadWithoutStackLeft) {
  if (kSanitized) GTEST_SKIP() << "sanitizers find that by themselves";
  const int status = ended_by([&] {
    const CrashSignalRecorder mark(*mark_);
    pthread_t thread;
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          const AlternateSignalStack stack;
          const volatile int none = 0;
          return reinterpret_cast<void*>(static_cast<std::intptr_t>(deep(none)));
        },
        nullptr);
    ::pthread_join(thread, nullptr);
  });
  EXPECT_EQ(marked(), SIGSEGV);
  EXPECT_TRUE(died_of(status, SIGSEGV)) << status;
}

TEST_F(CrashSignals, AStackThatIsThereIsKept) {
  ended_by([] {
    static char memory[64 << 10];
    const stack_t mine{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
    ::sigaltstack(&mine, nullptr);
    { const AlternateSignalStack stack; }
    stack_t now{};
    ::sigaltstack(nullptr, &now);
    if (now.ss_sp != memory) std::abort();
  });
}

TEST(CrashSignalNames, AreThoseOfTheSystem) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(12345), "signal 12345");
}

}  // namespace
}  // namespace trawl
