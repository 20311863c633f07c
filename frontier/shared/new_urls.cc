#include "frontier/shared/new_urls.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "trawl/lease.h"

#include "base/wall_time.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

// The fingerprints that a batch admitted, and which of them have a URL in it.
class Admitted {
 public:
  explicit Admitted(const std::vector<std::uint64_t>& sorted)
      : all_(sorted), has_url_(sorted.size()) {}

  // Whether it is one of them; then it has a URL.
  bool note(std::uint64_t fingerprint) {
    const auto [first, end] = std::equal_range(all_.begin(), all_.end(), fingerprint);
    std::fill_n(has_url_.begin() + (first - all_.begin()), end - first, true);
    return first != end;
  }
  template <class Visit>
  void visit_without_url(Visit visit) const {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (!has_url_[i]) visit(all_[i]);
  }

 private:
  const std::vector<std::uint64_t>& all_;
  std::vector<bool> has_url_;
};

// Collects requests into messages.
class Messages {
 public:
  Messages(const UrlIdentity& identity, std::vector<std::string>& bodies)
      : identity_(identity), bodies_(bodies) {}
  ~Messages() { end_message(); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  // `record` must outlive this. It is added if it is one of `admitted`; null: whatever it is.
  void add(std::string_view record, Admitted* admitted, std::int32_t priority,
           std::optional<SystemTime> not_before,
           const std::optional<HoldReason>& hold = std::nullopt) {
    auto url = decode_record(record);
    if (!url) return;
    if (admitted != nullptr) {
      const auto fingerprint = identity_.of(*url);
      if (!fingerprint || !admitted->note(fingerprint->low)) return;
    }
    const std::size_t bytes =
        record.size() + url->parent.size() + (hold ? hold->reason.size() : 0) + kOfARequest;
    make_room(bytes);
    const UrlRecord& kept = urls_.emplace_back(std::move(*url));
    requests_.push_back({.url = kept.url,
                         .priority = priority,
                         .depth = kept.depth,
                         .redirects = kept.redirects,
                         .parent = kept.parent,
                         .not_before = not_before,
                         .note = kept.note,
                         .again = is_recrawl_record(record),
                         .hold = hold});
    given_.push_back(kept.given);
    if (kept.given.named) requests_.back().queue = names_.emplace_back(queue_of(kept));
  }

  void add_seen(Fingerprint fingerprint) {
    make_room(kOfARequest);
    requests_.push_back({.url = {}, .seen_only = true});
    given_.push_back({.fingerprint = fingerprint});
  }

 private:
  static constexpr std::size_t kOfARequest = 64;

  void make_room(std::size_t bytes) {
    if (!requests_.empty() && bytes_ + bytes > kMostMessageBytes) end_message();
    bytes_ += bytes;
  }
  void end_message() {
    if (requests_.empty()) return;
    bodies_.push_back(encode_requests(requests_, given_));
    requests_.clear();
    given_.clear();
    urls_.clear();
    names_.clear();
    bytes_ = 0;
  }

  const UrlIdentity& identity_;
  std::vector<std::string>& bodies_;
  // The requests point into the others, whose elements do not move.
  std::vector<UrlRequest> requests_;
  std::vector<GivenIdentity> given_;
  std::deque<UrlRecord> urls_;
  std::deque<std::string> names_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::size_t NewUrls::bytes() const noexcept {
  std::size_t bytes = admitted.size() * sizeof(std::uint64_t);
  for (const BucketBatch::Queue& queue : queues) {
    bytes += sizeof queue;
    for (const std::string& url : queue.added)
      bytes += sizeof url + url.size();
  }
  for (const DeferredUrl& url : deferred)
    bytes += sizeof url + url.record.size();
  for (const std::string& value : held)
    bytes += sizeof value + value.size();
  return bytes;
}

NewUrls take_new_urls(BucketBatch&& batch) {
  NewUrls urls;
  for (auto& one : batch.set_aside) {
    auto& value = one.second;
    const auto record = value ? decode_set_aside(*value) : std::nullopt;
    if (record && !record->was_queued) urls.held.push_back(std::move(*value));
  }
  if (batch.admitted.empty()) return urls;
  urls.admitted = std::move(batch.admitted);
  std::ranges::sort(urls.admitted);
  urls.deferred = std::move(batch.deferred);
  std::erase_if(batch.queues, [](const BucketBatch::Queue& queue) { return queue.added.empty(); });
  for (BucketBatch::Queue& queue : batch.queues)
    queue.ended = {};
  urls.queues = std::move(batch.queues);
  return urls;
}

void encode_new_urls(const NewUrls& urls, BucketId bucket, const UrlIdentity& identity,
                     std::vector<std::string>& bodies) {
  Messages messages(identity, bodies);
  Admitted admitted(urls.admitted);
  for (const BucketBatch::Queue& queue : urls.queues) {
    for (const std::string& element : queue.added) {
      const auto url = decode_queued(element);
      if (url) messages.add(url->second, &admitted, queue.priority, std::nullopt);
    }
  }
  for (const DeferredUrl& url : urls.deferred)
    messages.add(url.record, &admitted, url.priority, from_milliseconds(url.not_before));
  // The upper half has the bucket; the rest of it is not stored.
  const HostId upper = identity.hosts_of(bucket).first;
  admitted.visit_without_url(
      [&](std::uint64_t lower) { messages.add_seen({.high = upper, .low = lower}); });
  for (const std::string& value : urls.held) {
    const auto record = decode_set_aside(value);
    if (!record) continue;
    messages.add(record->url_record, nullptr, record->priority, std::nullopt,
                 HoldReason{.reason = record->reason, .rules = record->rules});
  }
}

}  // namespace trawl
