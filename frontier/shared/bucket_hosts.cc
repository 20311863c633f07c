#include "frontier/shared/bucket_hosts.h"

#include <algorithm>
#include <cassert>

namespace trawl {

namespace {

// Where the queue of a priority is, or belongs: higher ones first.
auto place_of(auto& queues, std::int32_t priority) {
  return std::ranges::find_if(queues, [&](const auto& q) { return q.first <= priority; });
}

}  // namespace

void BucketHosts::load(HostId id, const BucketHost& value, const std::vector<std::uint64_t>& urls) {
  assert(urls.size() == value.priorities.size());
  const MutexLock lock(mutex_);
  Host& host = hosts_[id];
  queues_ -= host.queues.size();
  host.queues.clear();
  remove_record(host);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (urls[i] > 0)
      host.queues.insert(place_of(host.queues, value.priorities[i]),
                         {value.priorities[i], urls[i]});
  }
  queues_ += host.queues.size();
  if (!value.record.is_default() || value.record.answered) set_record(host, value.record);
  set_admitted(host, value.admitted);
}

void BucketHosts::set_admitted(Host& host, const std::optional<AdmittedOfHost>& admitted) {
  const auto bytes = [&] {
    return host.admitted ? sizeof *host.admitted + host.admitted->name.size() : 0;
  };
  counted_ -= bytes();
  host.admitted = admitted ? std::make_unique<AdmittedOfHost>(*admitted) : nullptr;
  counted_ += bytes();
}

void BucketHosts::count_admitted(HostId id, std::string_view name) {
  const MutexLock lock(mutex_);
  Host& host = hosts_[id];
  if (!host.admitted) set_admitted(host, AdmittedOfHost{.name = std::string(name), .urls = 0});
  ++host.admitted->urls;
}

void BucketHosts::visit_admitted(
    const std::function<void(std::string_view name, std::uint64_t urls)>& visit) const {
  const MutexLock lock(mutex_);
  for (const auto& [id, host] : hosts_)
    if (host.admitted) visit(host.admitted->name, host.admitted->urls);
}

void BucketHosts::set_record(Host& host, const HostRecord& record) {
  if (!host.record) {
    host.record = std::make_unique<HostRecord>();
    ++records_;
  }
  names_ += record.name.size() - host.record->name.size();  // modulo 2^64
  *host.record = record;
}

void BucketHosts::remove_record(Host& host) {
  if (!host.record) return;
  names_ -= host.record->name.size();
  --records_;
  host.record.reset();
}

bool BucketHosts::add_url(HostId id, std::int32_t priority) {
  const MutexLock lock(mutex_);
  auto& queues = hosts_[id].queues;
  const auto queue = place_of(queues, priority);
  const bool known = queue != queues.end() && queue->first == priority;
  if (known) {
    ++queue->second;
  } else {
    queues.insert(queue, {priority, 1});
    ++queues_;
  }
  return !known;
}

bool BucketHosts::remove_url(HostId id, std::int32_t priority) {
  const MutexLock lock(mutex_);
  const auto host = hosts_.find(id);
  if (host == hosts_.end()) return false;
  auto& queues = host->second.queues;
  const auto queue = place_of(queues, priority);
  if (queue == queues.end() || queue->first != priority || --queue->second > 0) return false;
  queues.erase(queue);
  --queues_;
  return true;
}

bool BucketHosts::set_record(HostId id, const HostRecord& record) {
  const MutexLock lock(mutex_);
  set_record(hosts_[id], record);
  return true;
}

bool BucketHosts::remove_record(HostId id) {
  const MutexLock lock(mutex_);
  const auto host = hosts_.find(id);
  if (host == hosts_.end()) return false;
  remove_record(host->second);
  return true;
}

std::optional<BucketHost> BucketHosts::take_value(HostId id) {
  const MutexLock lock(mutex_);
  const auto host = hosts_.find(id);
  if (host == hosts_.end()) return std::nullopt;
  const auto& [record, queues, admitted] = host->second;
  if (!record && queues.empty() && !admitted) {
    hosts_.erase(host);
    return std::nullopt;
  }
  BucketHost value{.record = record ? *record : HostRecord{}, .priorities = {}};
  for (const auto& [priority, urls] : queues)
    value.priorities.push_back(priority);
  if (admitted) value.admitted = *admitted;
  return value;
}

std::optional<HostRecord> BucketHosts::record(HostId id) const {
  const MutexLock lock(mutex_);
  const auto host = hosts_.find(id);
  if (host == hosts_.end() || !host->second.record) return std::nullopt;
  return *host->second.record;
}

BucketHosts::Queues BucketHosts::queues(HostId id) const {
  const MutexLock lock(mutex_);
  const auto host = hosts_.find(id);
  return host == hosts_.end() ? Queues() : host->second.queues;
}

template <class Wanted>
std::optional<HostId> BucketHosts::next(HostId from, Wanted wanted) const {
  const MutexLock lock(mutex_);
  for (auto host = hosts_.lower_bound(from); host != hosts_.end(); ++host)
    if (wanted(host->second)) return host->first;
  return std::nullopt;
}

std::optional<HostId> BucketHosts::next_with_record(HostId from) const {
  return next(from, [](const Host& host) { return host.record != nullptr; });
}

std::optional<HostId> BucketHosts::next_with_urls(HostId from) const {
  return next(from, [](const Host& host) { return !host.queues.empty(); });
}

std::uint64_t BucketHosts::memory() const {
  constexpr std::uint64_t kHost = 48 + sizeof(HostId) + sizeof(Host);  // with the map's node
  constexpr std::uint64_t kQueue = 32;                                 // most hosts have one
  const MutexLock lock(mutex_);
  return hosts_.size() * kHost + queues_ * kQueue + records_ * (sizeof(HostRecord) + 16) + names_ +
         counted_;
}

}  // namespace trawl
