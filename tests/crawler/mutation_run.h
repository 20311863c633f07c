// What the tests with mutated responses share: how many there are, their seed, and what holds of
// every response.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "http_client_fixture.h"

namespace trawl::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t usual) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? usual : std::strtoull(given, nullptr, 10);
}

// TRAWL_MUTATIONS and TRAWL_MUTATION_SEED choose others.
inline std::uint64_t mutations(std::uint64_t usual) {
  return number_from("TRAWL_MUTATIONS", usual);
}
inline std::uint64_t mutation_seed() {
  const std::uint64_t seed = number_from("TRAWL_MUTATION_SEED", std::random_device()());
  std::printf("TRAWL_MUTATION_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

// Under valgrind everything takes longer: TRAWL_MUTATION_PATIENCE times as long.
inline std::chrono::milliseconds patient(std::chrono::milliseconds usual) {
  return usual * number_from("TRAWL_MUTATION_PATIENCE", 1);
}

// That gives up early, so that servers that stall cost little.
inline HttpOptions mutation_options() {
  HttpOptions options = quick();
  options.connections = 64;
  options.verify_tls = false;
  options.connect_timeout =
      patient(std::chrono::milliseconds(20'000));  // a loaded machine must not cause failures
  options.first_byte_timeout = patient(std::chrono::milliseconds(1500));
  options.timeout = patient(std::chrono::milliseconds(25'000));
  options.min_speed = 1;
  options.min_speed_time = patient(std::chrono::milliseconds(1500));
  return options;
}

// What a good response may end in where the machine is busy: that is worth another try.
inline bool is_late(const HttpResponse& got) {
  return got.failure == FetchError::kFirstByteTimeout || got.failure == FetchError::kTooSlow;
}

inline constexpr std::uint64_t kMutationBody = 1 << 20;

inline void check_mutated(const HttpResponse& got, std::uint64_t number) {
  EXPECT_EQ(!got.failure, got.error.empty())
      << number << ": " << to_string(got.failure) << ": " << got.error;
  EXPECT_LE(got.body.size(), kMutationBody) << number;
  EXPECT_NE(got.failure, FetchError::kMemory) << number << ": " << got.error;
  EXPECT_NE(got.failure, FetchError::kTimeout) << number << ": it went on without an end";
}

// Runs the client until nothing is under way; false if it hangs.
inline bool run_until_idle(HttpClient& client) {
  const auto longest = patient(std::chrono::seconds(120));
  std::size_t active = client.active();
  auto changed = std::chrono::steady_clock::now();
  while (client.active() > 0) {
    client.run(std::chrono::milliseconds(100));
    const auto now = std::chrono::steady_clock::now();
    if (client.active() != active) {
      active = client.active();
      changed = now;
    } else if (now - changed > longest) {
      ADD_FAILURE() << active << " requests hang";
      return false;
    }
  }
  return true;
}

}  // namespace trawl::test
