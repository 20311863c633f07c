// Crawls the web of crash_web.h from several threads, with checkpoints all the time, until it is
// done or killed.
//
//   crash_worker STATE_DIRECTORY LEASE_LOG PAGES
//
// Appends the number of each page it leases to LEASE_LOG, with how often it failed before, and
// writes kCrashProgressBytes to standard output for each page it completes. Ends with 0 when all is
// done.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tests/frontier/crash_web.h"
#include "tests/frontier/numbered_urls.h"

namespace trawl::test {
namespace {

constexpr std::size_t kLeasesAtOnce = 4;

[[noreturn]] void give_up(const char* what, const Error& error) {
  std::fprintf(stderr, "crash_worker: %s: %s\n", what, error.message.c_str());
  ::_exit(1);
}

void write_or_give_up(int fd, const std::string& bytes) {
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    give_up("write", system_error(errno, "log"));
  }
}

void work_on(Frontier& frontier, const Lease& lease, int log, std::uint64_t pages) {
  const NumberedUrls web(kCrashHosts);
  const std::uint64_t page = NumberedUrls::number(lease.url);
  write_or_give_up(log, std::to_string(page) + " " + std::to_string(lease.attempts) + "\n");
  if (lease.attempts < crash_failures_of(page)) {
    const auto failed = frontier.fail(lease.id, FailureReason::kTimeout);
    if (!failed) give_up("fail", failed.error());
    return;
  }
  const Requests offer({web.url(crash_offer_of(page, pages))});
  if (const auto offered = frontier.offer(offer.get()); !offered) give_up("offer", offered.error());
  Requests links;
  for (const std::uint64_t link : crash_links_of(page, pages))
    links.add(web.url(link));
  const auto completed = frontier.complete(lease.id, {.status = 200}, links.get());
  if (!completed) give_up("complete", completed.error());
  write_or_give_up(STDOUT_FILENO, std::string(kCrashProgressBytes, 'p'));
}

void crawl(Frontier& frontier, int log, std::uint64_t pages, std::atomic<bool>& done) {
  while (!done.load()) {
    const auto leases = frontier.lease({.max = kLeasesAtOnce});
    if (!leases) give_up("lease", leases.error());
    for (const Lease& lease : *leases)
      work_on(frontier, lease, log, pages);
    if (leases->empty()) {
      if (const auto flushed = frontier.flush(); !flushed) give_up("flush", flushed.error());
      if (frontier.progress()->finished) done.store(true);
    }
  }
}

void run(const char* directory, const char* log_path, std::uint64_t pages) {
  auto opened = EmbeddedFrontier::open(crash_options(directory, pages));
  if (!opened) give_up("open", opened.error());
  Frontier& frontier = **opened;
  const int log = ::open(log_path, O_WRONLY | O_APPEND | O_CREAT, 0644);
  // The kill may have cut off the last line.
  write_or_give_up(log, "\n");
  Requests seed({NumberedUrls(kCrashHosts).url(0)});
  if (const auto offered = frontier.offer(seed.get()); !offered) give_up("offer", offered.error());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kCrashThreads; ++t) {
    threads.emplace_back([&] { crawl(frontier, log, pages, done); });
  }
  while (!done.load()) {
    if (const auto taken = frontier.checkpoint(); !taken) give_up("checkpoint", taken.error());
  }
  for (auto& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace trawl::test

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  trawl::test::run(argv[1], argv[2], std::stoull(argv[3]));
  return 0;
}
