#include "crawler/cli/stored_url_state.h"

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

namespace trawl::cli {

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

Result<HostInfo> look_up_host(const Store& store, const KeyedHash& hash, const std::string& name) {
  const HostId id = host_id(hash, name);
  const auto record = store.host(id);
  if (!record) return tl::unexpected(record.error());
  HostInfo info;
  if (*record) info = host_info(**record, to_milliseconds(std::chrono::system_clock::now()));
  info.host = name;
  const auto counted =
      store.visit_pending(id, [&info](HostId, const QueueOrder&, std::string_view) {
        ++info.queued;
        return true;
      });
  if (!counted) return tl::unexpected(counted.error());
  return info;
}

StoredUrlState unreadable(std::string why) {
  return {.found = StoredUrlState::Found::kUnreadable, .note = std::move(why)};
}

StoredUrlState look_up(const std::filesystem::path& directory, const StoppedFrontier& stopped,
                       const Url& url, const Profile& config_profile) {
  const Manifest& manifest = *stopped.manifest;
  auto profile = Profile::from_name(manifest.profile);
  if (!profile) return unreadable(std::move(profile.error().message));
  StoredUrlState state{.found = StoredUrlState::Found::kRead};
  state.other_rules = *profile != config_profile;
  state.key = Canonicalizer(std::move(*profile)).key(url);
  const KeyedHash hash = KeyedHash::from_key(manifest.hash_key);
  const Fingerprint fingerprint = hash(state.key);
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
  auto host = look_up_host(*stopped.store, hash, politeness_group(url));
  if (!host) return unreadable(std::move(host.error().message));
  state.host = std::move(*host);
  return state;
}

}  // namespace

StoredUrlState look_up_state(const std::filesystem::path& directory, const Url& url,
                             const Profile& profile) {
  const auto stopped = StoppedFrontier::open_to_read(directory);
  if (!stopped) {
    switch (stopped.error().code) {
      case ErrorCode::kNotFound:
        return {.found = StoredUrlState::Found::kNoCrawl};
      case ErrorCode::kInUse:
        return {.found = StoredUrlState::Found::kInUse, .note = stopped.error().message};
      default:
        return unreadable(stopped.error().message);
    }
  }
  if (!stopped->manifest) {
    return unreadable(stopped->warnings.empty() ? std::string("the state directory has no MANIFEST")
                                                : stopped->warnings.front());
  }
  return look_up(directory, *stopped, url, profile);
}

}  // namespace trawl::cli
