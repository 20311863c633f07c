#include "crawler/cli/interrupt_cleanup.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "crawler/cli/signal_waiter.h"
#include "filter/blocked/spool_folder.h"

namespace trawl::cli {

namespace {

bool is_ignored(int number) {
  struct sigaction action;
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

InterruptCleanup::InterruptCleanup() {
  assert(is_only_thread());
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(number)) sigaddset(&signals_, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  blocked_ = true;
}

void InterruptCleanup::arm(std::string spool) {
  assert(taken_.get() < 0);  // once
  spool_ = std::move(spool);
  taken_ = FileDescriptor(::signalfd(-1, &signals_, SFD_CLOEXEC));
  ended_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (taken_.get() < 0 || ended_.get() < 0) {
    // Without the thread, signals must end the process as usual, even if files are left behind.
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    blocked_ = false;
    return;
  }
  watcher_ = std::thread([this] { watch(); });
}

InterruptCleanup::~InterruptCleanup() {
  if (watcher_.joinable()) {
    ::eventfd_write(ended_.get(), 1);
    watcher_.join();
  }
  if (blocked_) pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void InterruptCleanup::watch() const {
  std::array<pollfd, 2> sources{{{taken_.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}}};
  while (::poll(sources.data(), sources.size(), -1) <= 0) {
  }
  if ((sources[0].revents & POLLIN) == 0) return;
  signalfd_siginfo taken;
  if (::read(taken_.get(), &taken, sizeof taken) != static_cast<ssize_t>(sizeof taken)) return;
  TemporaryFile::remove_all_and_end([&] {
    // Twice, for a file that the builder created meanwhile. Not if the directory is gone: a new
    // directory of that name would belong to another builder.
    if (!spool_.empty() && !remove_spool(spool_)) remove_spool(spool_);
    const int number = static_cast<int>(taken.ssi_signo);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    ::raise(number);  // stays pending until unblocked, then ends the process
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  });
}

}  // namespace trawl::cli
