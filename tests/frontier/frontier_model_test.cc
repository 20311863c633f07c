// Random sequences of every call of a frontier, held against the model. One that is durable is on a
// disk that dies at any of its operations: before the crash every answer is the model's; after it,
// all that was answered is there, and what was under way is there as a whole or not at all; the
// links of a page may be there without its end, where ends follow.
//
// TRAWL_MODEL_SEED runs one sequence alone.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "tests/frontier/frontier_model_run.h"

namespace trawl::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSequences = 10;  // one thread calls: the other presets run more
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSequences = 45;
#else
constexpr std::uint64_t kSequences = 300;
#endif
constexpr std::uint64_t kSlowSequences = 10'000;

class FrontierModelTest : public ::testing::TestWithParam<Implementation> {
 protected:
  static void run(std::uint64_t seed) {
    SCOPED_TRACE("TRAWL_MODEL_SEED=" + std::to_string(seed));
    FrontierModelRun(seed, GetParam()).run();
  }
  static void run_sequences(std::uint64_t count) {
    if (const char* seed = std::getenv("TRAWL_MODEL_SEED"))
      return run(std::strtoull(seed, nullptr, 10));
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i)
      run(first + i);
  }
};
using FrontierModelSlow = FrontierModelTest;

TEST_P(FrontierModelTest, N1_N3_A1_A2_P1_RandomCallsAndCrashesFollowTheModel) {
  run_sequences(kSequences);
}

TEST_P(FrontierModelSlow, N1_N3_A1_A2_P1_RandomCallsAndCrashesFollowTheModel) {
  run_sequences(kSlowSequences);
}

// Frontiers that keep other promises than they were asked for are found.
using Opens = Result<std::unique_ptr<Frontier>> (*)(const EmbeddedOptions&, OpenReport*);
template <class Change>
Result<std::unique_ptr<Frontier>> open_wrongly(EmbeddedOptions options, Change change) {
  change(options);
  return implementations().back().open(options, nullptr);
}
const Opens kWrong[] = {
    [](const EmbeddedOptions& options, OpenReport*) {
      return open_wrongly(options, [](auto& wrong) { wrong.politeness.delay /= 2; });
    },
    [](const EmbeddedOptions& options, OpenReport*) {
      return open_wrongly(options, [](auto& wrong) { ++wrong.politeness.leases_per_host; });
    },
    [](const EmbeddedOptions& options, OpenReport*) {
      return open_wrongly(options, [](auto& wrong) { ++wrong.retry.retries; });
    },
    [](const EmbeddedOptions& options, OpenReport*) {
      return open_wrongly(options, [](auto& wrong) { wrong.limits.lease_timeout *= 2; });
    },
    [](const EmbeddedOptions& options, OpenReport*) {
      return open_wrongly(options,
                          [](auto& wrong) { wrong.politeness.domain_delay = Milliseconds(0); });
    }};

TEST(FrontierModelDeathTest, FindsAFrontierThatKeepsOtherPromises) {
  for (const Opens open : kWrong) {
    const auto run_all = [open] {
      const Implementation wrong{.name = "wrong", .open = open, .is_durable = false};
      for (std::uint64_t seed = 0; seed < kSequences && !::testing::Test::HasFailure(); ++seed)
        FrontierModelRun(seed, wrong).run();
      std::exit(::testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(run_all(), ::testing::ExitedWithCode(1), "");
  }
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Frontiers, FrontierModelTest, ::testing::ValuesIn(implementations()),
                         kName);
INSTANTIATE_TEST_SUITE_P(Frontiers, FrontierModelSlow, ::testing::ValuesIn(implementations()),
                         kName);

}  // namespace
}  // namespace trawl::test
