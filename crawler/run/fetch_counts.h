// FetchCounts: counts the fetches of this process by result.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "crawler/http/fetch_error.h"

namespace trawl {

// Thread-safe.
class FetchCounts {
 public:
  void add(FetchError error) { count(errors_[static_cast<std::size_t>(error)], 1); }
  std::uint64_t operator[](FetchError error) const {
    return read(errors_[static_cast<std::size_t>(error)]);
  }
  void add_bytes(std::uint64_t n) { count(bytes_, n); }
  void add_not_modified() { count(not_modified_, 1); }
  void add_retry() { count(retries_, 1); }
  void add_succeeded() { count(succeeded_, 1); }
  void add_truncated() { count(truncated_, 1); }
  void add_guesses(std::uint64_t n) { count(guesses_, n); }

  std::uint64_t bytes() const { return read(bytes_); }  // of bodies, still compressed
  std::uint64_t not_modified() const { return read(not_modified_); }
  std::uint64_t retries() const { return read(retries_); }      // fetches to be retried
  std::uint64_t succeeded() const { return read(succeeded_); }  // without an error
  std::uint64_t guesses() const { return read(guesses_); }      // strings that look like URLs
  std::uint64_t truncated() const {
    return read(truncated_);
  }  // URLs that ended with a part of the body

 private:
  using Count = std::atomic<std::uint64_t>;
  static void count(Count& count, std::uint64_t n) {
    count.fetch_add(n, std::memory_order_relaxed);
  }
  static std::uint64_t read(const Count& count) { return count.load(std::memory_order_relaxed); }

  std::array<Count, kFetchErrors> errors_{};
  Count bytes_{0};
  Count not_modified_{0};
  Count retries_{0};
  Count succeeded_{0};
  Count truncated_{0};
  Count guesses_{0};
};

}  // namespace trawl
