// CutBodies: answers whose body broke off, kept until their URL was tried for the last time: of its
// tries the one with the longest body counts.
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

// Thread-safe. Its answers keep their share of the BodyBudget: clear() when that runs short.
class CutBodies {
 public:
  struct Kept {
    HttpResponse response;
    std::chrono::system_clock::time_point fetched_at;
  };

  // Keeps `max_memory` bytes at most; the oldest make room for others.
  explicit CutBodies(std::uint64_t max_memory) : max_memory_(max_memory) {}

  // In place of what is kept of the URL if its body is as long; else not at all.
  void keep(const std::string& url, Kept kept);
  // What is kept of the URL, which is forgotten.
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

  const std::uint64_t max_memory_;
  std::atomic<std::uint64_t> memory_{0};  // written under the mutex
  Mutex mutex_;
  Entries entries_ TRAWL_GUARDED_BY(mutex_);                       // the oldest first
  std::unordered_map<std::string_view, Entries::iterator> by_url_  // views of entries_
      TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
