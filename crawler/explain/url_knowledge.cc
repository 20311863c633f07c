#include "crawler/explain/url_knowledge.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "trawl/canonicalizer.h"
#include "trawl/mapped_filter.h"
#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/recovery/stopped_frontier.h"
#include "frontier/schedule/host_record_info.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

Result<bool> in_log(const Store& store, std::uint64_t from, Fingerprint fingerprint) {
  bool found = false;
  const auto read =
      store.replay_admissions(from, [&](std::uint64_t, std::span<const Fingerprint> admitted) {
        found = found || std::ranges::find(admitted, fingerprint) != admitted.end();
      });
  if (!read) return tl::unexpected(read.error());
  return found;
}

// Whether the filter has a fingerprint, by the newest checkpoint and the admission log since then.
// Errors: no checkpoint, or the newest cannot be read.
Result<bool> seen(const std::filesystem::path& directory, const Manifest& manifest,
                  const Store& store, Fingerprint fingerprint) {
  const auto counters = store.counters();
  if (!counters) return tl::unexpected(counters.error());
  if (manifest.checkpoints.empty()) {
    if (manifest.log_start > 0)
      return error(ErrorCode::kCorrupt, "the crawl has no readable checkpoint");
    return in_log(store, 0, fingerprint);
  }
  const CheckpointEntry& newest = manifest.checkpoints.back();
  if (newest.end > counters->admitted)
    return error(ErrorCode::kCorrupt, "the newest checkpoint is newer than the store");
  const auto path = Manifest::checkpoint_path(directory, newest.number);
  const auto filter = MappedFilter::open(path.string());
  if (!filter) return tl::unexpected(filter.error());
  if (filter->hash().key() != manifest.hash_key)
    return error(ErrorCode::kCorrupt, path.string() + " belongs to another crawl");
  if (filter->contains(fingerprint)) return true;
  return in_log(store, newest.sequence, fingerprint);
}

// Fills in the host, and where the URL waits. A URL that is not `wanted` is not searched for.
Result<void> look_up_queue(const Store& store, const UrlIdentity& identity, const std::string& name,
                           std::optional<Fingerprint> wanted, UrlKnowledge& state) {
  const HostId id = identity.host(name);
  const auto record = store.host(id);
  if (!record) return tl::unexpected(record.error());
  if (*record) state.host = host_info(**record, to_milliseconds(std::chrono::system_clock::now()));
  state.host.host = name;
  const auto is_it = [&](std::string_view value) {
    if (!wanted || state.waits != UrlKnowledge::Waits::kNo) return false;
    const auto url = decode_record(value);
    return url && identity.of(*url) == wanted;
  };
  auto read = store.visit_pending(id, [&](HostId, const QueueOrder&, std::string_view value) {
    ++state.host.queued;
    if (is_it(value)) state.waits = UrlKnowledge::Waits::kQueued;
    return true;
  });
  if (!read || !wanted || state.waits != UrlKnowledge::Waits::kNo) return read;
  return store.visit_deferred([&](const DeferredUrl& url) {
    if (url.host != id || !is_it(url.record)) return true;
    state.waits = UrlKnowledge::Waits::kDeferred;
    state.due = from_milliseconds(url.not_before);
    return false;
  });
}

UrlKnowledge unreadable(std::string why) {
  return {.found = UrlKnowledge::Found::kUnreadable, .note = std::move(why)};
}

UrlKnowledge look_up(const std::filesystem::path& directory, const StoppedFrontier& stopped,
                     const Url& url, const Profile& config_profile) {
  const Manifest& manifest = *stopped.manifest;
  auto profile = Profile::from_name(manifest.profile);
  if (!profile) return unreadable(std::move(profile.error().message));
  UrlKnowledge state{.found = UrlKnowledge::Found::kRead};
  state.other_rules = *profile != config_profile;
  state.key = Canonicalizer(*profile).key(url);
  const UrlIdentity identity(KeyedHash::from_key(manifest.hash_key), *profile);
  const Fingerprint fingerprint = identity.hash()(state.key);
  if (auto known = seen(directory, manifest, *stopped.store, fingerprint)) {
    state.seen = *known;
  } else {
    state.seen_note = std::move(known.error().message);
  }
  if (manifest.ledger) {
    const auto record = stopped.store->ledger(fingerprint);
    if (!record) return unreadable(record.error().message);
    if (*record) {
      state.fetch = LastFetch{.fetches = (*record)->fetches,
                              .status = (*record)->status,
                              .ended = from_milliseconds((*record)->fetched)};
    }
  }
  const auto aside = stopped.store->set_aside(fingerprint);
  if (!aside) return unreadable(aside.error().message);
  if (const auto record = *aside ? decode_set_aside(**aside) : std::nullopt)
    state.set_aside = set_aside_url(*record);
  const bool may_wait = state.seen.value_or(true) && !state.set_aside;
  const auto wanted = may_wait ? std::optional(fingerprint) : std::nullopt;
  if (auto queue = look_up_queue(*stopped.store, identity, politeness_group(url), wanted, state);
      !queue) {
    return unreadable(std::move(queue.error().message));
  }
  return state;
}

}  // namespace

struct StoppedCrawlFiles::Opened {
  Result<StoppedFrontier> frontier;
};

StoppedCrawlFiles::StoppedCrawlFiles(const std::filesystem::path& directory)
    : directory_(directory),
      opened_(new Opened{.frontier = StoppedFrontier::open_to_read(directory)}) {}

StoppedCrawlFiles::~StoppedCrawlFiles() = default;

UrlKnowledge StoppedCrawlFiles::look_up(const Url& url, const Profile& profile) {
  const auto& stopped = opened_->frontier;
  if (!stopped) {
    switch (stopped.error().code) {
      case ErrorCode::kNotFound:
        return {.found = UrlKnowledge::Found::kNoCrawl};
      case ErrorCode::kInUse:
        return {.found = UrlKnowledge::Found::kInUse, .note = stopped.error().message};
      default:
        return unreadable(stopped.error().message);
    }
  }
  if (!stopped->manifest) {
    return unreadable(stopped->warnings.empty() ? std::string("the state directory has no MANIFEST")
                                                : stopped->warnings.front());
  }
  return trawl::look_up(directory_, *stopped, url, profile);
}

}  // namespace trawl
