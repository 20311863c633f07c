// A disk that is full or failing: the frontier stops with its state intact, and goes on later.
#include <cerrno>
#include <set>

#include <sys/mount.h>

#include "tests/frontier/frontier_fixture.h"
#include "tests/support/file_faults.h"
#include "tests/support/small_disk.h"

namespace trawl {
namespace {

class FrontierDiskFull : public test::FrontierFixture {
 protected:
  static test::Requests urls(std::uint64_t first, std::uint64_t last) {
    const test::NumberedUrls web(7);
    test::Requests requests;
    for (std::uint64_t i = first; i < last; ++i)
      requests.add(web.url(i));
    return requests;
  }
  // All calls that would change anything must fail, with a message that says why.
  static void expect_stopped(Frontier& frontier, std::uint64_t lease, ErrorCode code) {
    const auto check = [&](const auto& answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, code) << answer.error().message;
      EXPECT_NE(answer.error().message.find("store"), std::string::npos) << answer.error().message;
    };
    check(frontier.offer(urls(0, 1).get()));
    check(frontier.lease({.max = 1}));
    check(frontier.complete(lease, {.status = 200}, {}));
    check(frontier.fail(lease, FailureReason::kTimeout));
    check(frontier.release(lease));
    check(frontier.renew(lease));
    check(frontier.set_host("host1.test", {.delay = std::chrono::milliseconds(5)}));
    check(frontier.set_host("host1.test", {.blocked_until = std::chrono::system_clock::now()}));
    check(frontier.drop_host("host1.test"));
    check(frontier.flush());
    EXPECT_FALSE(frontier.checkpoint());
    static_cast<void>(frontier.stats());
  }
  // How many URLs of an offer become durable together.
  static constexpr std::uint64_t kPart = 256;

  // The URLs with the answer "new" are leased, and those of the offer that failed of which a
  // part became durable before. Returns how many that are in all.
  std::uint64_t expect_all_there(const EmbeddedOptions& options, std::uint64_t admitted,
                                 std::uint64_t offered) const {
    const auto frontier = open(options);
    std::set<std::uint64_t> waiting;
    for (const Lease& lease : lease_all(*frontier)) {
      EXPECT_TRUE(waiting.insert(test::NumberedUrls::number(lease.url)).second);
      complete(*frontier, lease);
    }
    for (std::uint64_t i = 0; i < admitted; ++i)
      EXPECT_TRUE(waiting.contains(i)) << i;
    // Each part is there as a whole or not at all, and none without those before it.
    if (waiting.empty()) {
      ADD_FAILURE() << "nothing waits";
      return 0;
    }
    EXPECT_EQ(*waiting.rbegin() + 1, waiting.size()) << "a gap";
    EXPECT_TRUE(waiting.size() == offered || (waiting.size() - admitted) % kPart == 0)
        << waiting.size() << " of " << offered << ", " << admitted << " admitted";
    EXPECT_TRUE(frontier->flush());
    EXPECT_TRUE(frontier->progress()->finished);
    const auto answers = offer_all(*frontier, urls(0, offered));
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(answers, Admission::kSeen)),
              waiting.size());
    EXPECT_TRUE(frontier->checkpoint());
    EXPECT_TRUE(frontier->close());
    return waiting.size();
  }
};

TEST_F(FrontierDiskFull, E1_N1_AFullDiskStopsTheFrontierAndLosesNothing) {
  const test::SmallDisk disk(12u << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  EmbeddedOptions options = FrontierFixture::options();
  options.directory = disk / "state";
  options.store.max_memory = kMinFrontierMemory;
  std::uint64_t admitted = 0;
  constexpr std::uint64_t kAtOnce = 1'000;
  {
    const auto frontier = open(options);
    static_cast<void>(offer_all(*frontier, urls(0, kAtOnce)));
    admitted = kAtOnce;
    const auto leases = lease(*frontier, 1);
    ASSERT_EQ(leases.size(), 1u);
    Result<std::vector<Admission>> answer;
    do {
      answer = frontier->offer(urls(admitted, admitted + kAtOnce).get());
      if (answer) admitted += kAtOnce;
      ASSERT_LT(admitted, 3'000'000u) << "the disk does not fill up";
    } while (answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kNoSpace) << answer.error().message;
    expect_stopped(*frontier, leases.front().id, ErrorCode::kNoSpace);
    EXPECT_FALSE(frontier->close());
  }
  ASSERT_EQ(::mount("trawl-test", (disk / "").c_str(), "tmpfs", MS_REMOUNT, "size=512m"), 0);
  expect_all_there(options, admitted, admitted + kAtOnce);
}

TEST_F(FrontierDiskFull, E1_AWriteThatFailsOnceStopsItToo) {
  for (const int error : {ENOSPC, EIO}) {
    SCOPED_TRACE(error);
    const test::TemporaryDirectory directory;
    test::FileFaults faults(directory.path());
    EmbeddedOptions options = FrontierFixture::options();
    options.directory = directory.path() / "state";
    const ErrorCode code = error == ENOSPC ? ErrorCode::kNoSpace : ErrorCode::kIo;
    {
      const auto frontier = open(options);
      static_cast<void>(offer_all(*frontier, urls(0, 100)));
      const auto leases = lease(*frontier, 1);
      faults.fail_once(1, error, ".log");
      const auto answer = frontier->offer(urls(100, 200).get());
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, code) << answer.error().message;
      // The disk works again, but what became of that write is not known.
      expect_stopped(*frontier, leases.front().id, code);
    }
    expect_all_there(options, 100, 200);
  }
}

// Parts of a large offer are durable before its last one is written.
TEST_F(FrontierDiskFull, E1_N1_OfALargeOfferThatFailsWholePartsMayStay) {
  constexpr std::uint64_t kOffered = 20'000;
  std::set<std::uint64_t> stayed;
  for (const std::uint64_t n : {1, 5, 20}) {
    SCOPED_TRACE(n);
    const test::TemporaryDirectory directory;
    test::FileFaults faults(directory.path());
    EmbeddedOptions options = FrontierFixture::options();
    options.directory = directory.path() / "state";
    {
      const auto frontier = open(options);
      static_cast<void>(offer_all(*frontier, urls(0, 100)));
      faults.fail_once(n, ENOSPC, ".log");
      const auto answer = frontier->offer(urls(100, kOffered).get());
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::kNoSpace) << answer.error().message;
    }
    stayed.insert(expect_all_there(options, 100, kOffered));
  }
  EXPECT_LT(*stayed.begin(), kOffered);
  EXPECT_GT(*stayed.rbegin(), 100u) << "no part stayed, so nothing was tested";
}

TEST_F(FrontierDiskFull, ACheckpointThatFailsIsAnErrorOfThatCallAlone) {
  test::FileFaults faults(directory_.path());
  const EmbeddedOptions options = FrontierFixture::options();
  std::uint64_t offered = 0;
  {
    const auto frontier = open(options);
    static_cast<void>(offer_all(*frontier, urls(0, 100)));
    ASSERT_TRUE(frontier->checkpoint());
    offered = 100;
    for (const std::string part : {".ckpt", "state/MANIFEST"}) {
      for (const int error : {ENOSPC, EIO}) {
        // One operation after the other fails, until none is left.
        std::uint64_t n = 0;
        for (bool failed = true; failed; ++offered) {
          SCOPED_TRACE(part + " operation " + std::to_string(++n));
          ASSERT_LT(n, 100u);
          static_cast<void>(offer_all(*frontier, urls(offered, offered + 1)));
          faults.fail_once(n, error, part);
          const auto taken = frontier->checkpoint();
          failed = faults.heal();
          // Removing old files may fail unnoticed.
          if (!taken) {
            EXPECT_TRUE(failed);
            EXPECT_EQ(taken.error().code, error == EIO ? ErrorCode::kIo : ErrorCode::kNoSpace)
                << taken.error().message;
          }
          EXPECT_TRUE(frontier->flush()) << "the frontier goes on";
        }
        EXPECT_GE(n, 3u) << "nothing failed";
      }
    }
    EXPECT_TRUE(frontier->checkpoint());
  }
  expect_all_there(options, offered, offered);
}

// Opening on a disk that is full fails with the reason, and leaves what is there as it is.
TEST_F(FrontierDiskFull, OpeningFailsAndSucceedsLater) {
  test::FileFaults faults(directory_.path());
  const EmbeddedOptions options = FrontierFixture::options();
  {
    const auto frontier = open(options);
    static_cast<void>(offer_all(*frontier, urls(0, 500)));
  }
  std::uint64_t refused = 0;
  for (std::uint64_t n = 1;; n += n < 20 ? 1 : 5) {
    SCOPED_TRACE(n);
    faults.fail_from(n, ENOSPC);
    const auto frontier = EmbeddedFrontier::open(options);
    if (!faults.heal()) break;
    if (frontier) continue;
    ++refused;
    EXPECT_EQ(frontier.error().code, ErrorCode::kNoSpace) << frontier.error().message;
  }
  EXPECT_GT(refused, 3u);
  expect_all_there(options, 500, 500);
}

}  // namespace
}  // namespace trawl
