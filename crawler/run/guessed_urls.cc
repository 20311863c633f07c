#include "crawler/run/guessed_urls.h"

#include "base/mix.h"

namespace trawl {

GuessedUrls::Entry& GuessedUrls::place_of(const Fingerprint& url) {
  if (entries_.empty()) entries_.resize(kEntries);
  any_.store(true, std::memory_order_relaxed);
  return entries_[scale_to(url.low, entries_.size())];
}

void GuessedUrls::note_guess(std::string_view key) {
  const Fingerprint url = hash_(key);
  const MutexLock lock(mutex_);
  Entry& entry = place_of(url);
  // A second guess changes nothing.
  if (entry.state != State::kNone && entry.url == url) return;
  entry = {.url = url, .state = State::kWaits};
}

bool GuessedUrls::note_link(std::string_view key) {
  if (!any()) return false;
  const Fingerprint url = hash_(key);
  const MutexLock lock(mutex_);
  Entry& entry = place_of(url);
  if (entry.url != url) return false;
  const bool again = entry.state == State::kPartlyRead;
  if (entry.state == State::kWaits) entry.state = State::kLinked;
  if (again) entry.state = State::kNone;
  return again;
}

bool GuessedUrls::take(std::string_view key, bool partly) {
  const Fingerprint url = hash_(key);
  const MutexLock lock(mutex_);
  Entry& entry = place_of(url);
  const bool is_known = entry.state != State::kNone && entry.url == url;
  // Stays: it may be leased again, after an error or a restart.
  if (is_known && entry.state == State::kLinked) return true;
  if (partly) {
    entry = {.url = url, .state = State::kPartlyRead};
  } else if (is_known) {
    entry.state = State::kNone;
  }
  return false;
}

}  // namespace trawl
