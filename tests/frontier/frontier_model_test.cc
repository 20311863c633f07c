// Random sequences of every call of the frontier, on a disk that dies at any of its operations,
// held against the model: before the crash every answer is the model's; after it, all that was
// answered is there, and what was under way is there as a whole or not at all.
//
// TRAWL_MODEL_SEED runs one sequence alone.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "tests/frontier/frontier_model_run.h"

namespace trawl::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSequences = 60;
#else
constexpr std::uint64_t kSequences = 300;
#endif
constexpr std::uint64_t kSlowSequences = 10'000;

void run(std::uint64_t seed) {
  SCOPED_TRACE("TRAWL_MODEL_SEED=" + std::to_string(seed));
  FrontierModelRun(seed).run();
}

void run_sequences(std::uint64_t count) {
  if (const char* seed = std::getenv("TRAWL_MODEL_SEED"))
    return run(std::strtoull(seed, nullptr, 10));
  const std::uint64_t first = std::random_device{}();
  for (std::uint64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i)
    run(first + i);
}

TEST(FrontierModel, N1_N3_A1_A2_P1_RandomCallsAndCrashesFollowTheModel) {
  run_sequences(kSequences);
}

TEST(FrontierModelSlow, N1_N3_A1_A2_P1_RandomCallsAndCrashesFollowTheModel) {
  run_sequences(kSlowSequences);
}

}  // namespace
}  // namespace trawl::test
