// GuessedUrls: which URLs were queued as guesses. Less is read of a guess than of what a page links
// to, and the frontier, which knows a URL once, drops the links to it that come later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/mutex.h"

namespace trawl {

// A table of fixed size, in which new guesses replace old ones; of one run. Thread-safe.
class GuessedUrls {
 public:
  // 1 MiB, from the first guess on.
  static constexpr std::size_t kEntries = std::size_t{1} << 16;

  explicit GuessedUrls(const KeyedHash& hash) : hash_(hash) {}

  // False as long as there was no guess: calls of note_link() change nothing then.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // The URL with this canonical key is offered as a guess.
  void note_guess(std::string_view key) TRAWL_EXCLUDES(mutex_);
  // A link leads to it. If it waits, take() will say so. Returns true, once, if it was read as a
  // guess and is to be fetched again.
  bool note_link(std::string_view key) TRAWL_EXCLUDES(mutex_);
  // The guess is read now. Returns true if there was a link meanwhile: it is read as a link is.
  // `partly`: as a guess it is not.
  bool take(std::string_view key, bool partly) TRAWL_EXCLUDES(mutex_);

 private:
  enum class State : std::uint8_t { kNone, kWaits, kLinked, kPartlyRead };
  struct Entry {
    Fingerprint url{};
    State state = State::kNone;
  };

  Entry& place_of(const Fingerprint& url) TRAWL_REQUIRES(mutex_);

  const KeyedHash hash_;
  std::atomic<bool> any_{false};
  Mutex mutex_;
  std::vector<Entry> entries_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
