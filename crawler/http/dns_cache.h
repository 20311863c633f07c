// DnsCache: an LRU cache of resolved host names.
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "crawler/http/resolver.h"

namespace trawl {

class DnsCache {
 public:
  explicit DnsCache(std::size_t max_entries) : max_entries_(max_entries > 0 ? max_entries : 1) {}
  DnsCache(const DnsCache&) = delete;
  DnsCache& operator=(const DnsCache&) = delete;

  // Null if there is no entry or it has expired. A shared_ptr, since the caller's callback may
  // change the cache.
  std::shared_ptr<const Resolution> find(std::string_view host,
                                         std::chrono::steady_clock::time_point now) {
    const auto found = by_host_.find(host);
    if (found == by_host_.end()) return nullptr;
    const auto entry = found->second;
    if (entry->resolution->expires <= now) {
      // Kept for last() if the host does not exist.
      if (!entry->resolution->no_such_host) erase(found);
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->resolution;
  }

  // The last entry, even if it has expired; null if it was evicted.
  const Resolution* last(std::string_view host) const {
    const auto found = by_host_.find(host);
    return found == by_host_.end() ? nullptr : found->second->resolution.get();
  }

  // Removes entries without addresses.
  void forget_failures() {
    for (auto entry = by_host_.begin(); entry != by_host_.end();) {
      const auto next = std::next(entry);
      if (entry->second->resolution->addresses.empty()) erase(entry);
      entry = next;
    }
  }

  void insert(const std::string& host, std::shared_ptr<const Resolution> resolution) {
    if (const auto found = by_host_.find(host); found != by_host_.end()) {
      found->second->resolution = std::move(resolution);
      entries_.splice(entries_.begin(), entries_, found->second);
      return;
    }
    entries_.push_front({host, std::move(resolution)});
    by_host_.emplace(entries_.front().host, entries_.begin());
    assert(by_host_.size() == entries_.size());
    if (entries_.size() <= max_entries_) return;
    by_host_.erase(entries_.back().host);
    entries_.pop_back();
    assert(entries_.size() <= max_entries_);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string host;
    std::shared_ptr<const Resolution> resolution;
  };

  using ByHost = std::unordered_map<std::string_view, std::list<Entry>::iterator>;

  void erase(ByHost::iterator found) {
    const auto entry = found->second;
    by_host_.erase(found);
    entries_.erase(entry);
  }

  const std::size_t max_entries_;
  std::list<Entry> entries_;  // most recently used first
  ByHost by_host_;            // views of entries_
};

}  // namespace trawl
