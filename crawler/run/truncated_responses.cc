#include "crawler/run/truncated_responses.h"

#include <cassert>
#include <utility>

namespace trawl {

namespace {

std::uint64_t memory_of(const std::string& url, const HttpResponse& response) {
  return sizeof(HttpResponse) + 2 * url.size() + response.body.capacity() +
         response.encoded_body.capacity() + response.request_head.capacity() +
         response.response_head.capacity();
}

}  // namespace

void TruncatedResponses::keep(const std::string& url, Kept kept) {
  const std::uint64_t memory = memory_of(url, kept.response);
  const MutexLock lock(mutex_);
  if (const auto found = by_url_.find(url); found != by_url_.end()) {
    if (found->second->kept.response.body.size() > kept.response.body.size()) return;
    remove(found->second);
  }
  if (memory > max_memory_) return;
  while (memory_.load(std::memory_order_relaxed) + memory > max_memory_) {
    assert(!entries_.empty());
    remove(entries_.begin());
  }
  const auto entry = entries_.insert(entries_.end(), {url, std::move(kept), memory});
  by_url_.emplace(entry->url, entry);
  set_memory(this->memory() + memory);
}

std::optional<TruncatedResponses::Kept> TruncatedResponses::take(const std::string& url) {
  if (memory() == 0) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = by_url_.find(url);
  if (found == by_url_.end()) return std::nullopt;
  return remove(found->second);
}

void TruncatedResponses::clear() {
  if (memory() == 0) return;
  const MutexLock lock(mutex_);
  by_url_.clear();
  entries_.clear();
  set_memory(0);
}

TruncatedResponses::Kept TruncatedResponses::remove(Entries::iterator entry) {
  by_url_.erase(entry->url);
  assert(memory() >= entry->memory);
  set_memory(memory() - entry->memory);
  Kept kept = std::move(entry->kept);
  entries_.erase(entry);
  return kept;
}

}  // namespace trawl
