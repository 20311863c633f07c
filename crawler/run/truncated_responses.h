// TruncatedResponses: keeps responses with incomplete bodies until the last try of their URL; of
// all tries, the longest body is used.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "crawler/http/http_client.h"

namespace trawl {

// Thread-safe. The responses hold memory of the BodyMemoryBudget: call clear() when it runs short.
class TruncatedResponses {
 public:
  struct Kept {
    HttpResponse response;
    std::chrono::system_clock::time_point fetched_at;
  };

  // Keeps at most `max_memory` bytes; the oldest responses are dropped.
  explicit TruncatedResponses(std::uint64_t max_memory) : max_memory_(max_memory) {}

  // Replaces the kept response of the URL if the new body is at least as long.
  void keep(const std::string& url, Kept kept);
  // Removes and returns the kept response of the URL.
  std::optional<Kept> take(const std::string& url);
  void clear();
  std::uint64_t memory() const noexcept { return memory_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string url;
    Kept kept;
    std::uint64_t memory;
  };
  using Entries = std::list<Entry>;

  Kept remove(Entries::iterator entry) TRAWL_REQUIRES(mutex_);
  void set_memory(std::uint64_t memory) TRAWL_REQUIRES(mutex_) {
    memory_.store(memory, std::memory_order_relaxed);
  }

  const std::uint64_t max_memory_;
  std::atomic<std::uint64_t> memory_{0};  // see set_memory()
  Mutex mutex_;
  Entries entries_ TRAWL_GUARDED_BY(mutex_);                       // oldest first
  std::unordered_map<std::string_view, Entries::iterator> by_url_  // views of entries_
      TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
