// dump_frontier.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trawl/frontier_dump.h"

#include "base/wall_time.h"
#include "frontier/recovery/stopped_frontier.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/stored_url_dump.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

// Looks up the smallest depth of a URL's offers since it was queued.
class SmallestDepths {
 public:
  SmallestDepths(const Store& store, const Manifest& manifest, Profile profile)
      : store_(store), identity_(KeyedHash::from_key(manifest.hash_key), std::move(profile)) {}

  Result<std::uint32_t> of(const UrlRecord& url) const {
    // No note can be smaller than 0.
    const auto fingerprint = url.depth > 0 ? identity_.of(url) : std::nullopt;
    if (!fingerprint) return url.depth;
    const auto depth = store_.depth(*fingerprint);
    if (!depth) return tl::unexpected(depth.error());
    return std::min(url.depth, depth->value_or(url.depth));
  }

 private:
  const Store& store_;
  const UrlIdentity identity_;
};

class Dump {
 public:
  Dump(const Store& store, const std::optional<Manifest>& manifest, const DumpOptions& options,
       const std::function<Result<void>(const DumpedUrl&)>& visit)
      : store_(store), options_(options), visit_(visit) {
    if (!manifest) return;
    if (!options.host.empty())
      host_ = UrlIdentity(KeyedHash::from_key(manifest->hash_key), Profile{}).host(options.host);
    if (auto profile = Profile::from_name(manifest->profile))
      depths_.emplace(store, *manifest, std::move(*profile));
  }

  Result<void> run() {
    auto read = visit_waiting();
    if (read && done_) read = visit_set_aside();
    if (!read || !done_ || damaged_ == 0) return read ? done_ : read;
    return error(ErrorCode::kCorrupt,
                 fmt::format("the store is damaged: {} URL{} cannot be read, and {} left out",
                             damaged_, damaged_ == 1 ? "" : "s", damaged_ == 1 ? "was" : "were"));
  }

 private:
  bool wanted(WaitingState state) const { return options_.state.value_or(state) == state; }

  Result<void> visit_waiting() {
    if (wanted(WaitingState::kQueued)) {
      auto read = store_.visit_pending(
          host_, [this](HostId host, const QueueOrder& order, std::string_view record) {
            return take(host, record, {.priority = order.priority});
          });
      if (!read || !done_) return read;
    }
    if (!wanted(WaitingState::kDeferred)) return {};
    return store_.visit_deferred([this](const DeferredUrl& url) {
      return take(url.host, url.record,
                  {.priority = url.priority,
                   .state = WaitingState::kDeferred,
                   .not_before = from_milliseconds(url.not_before)});
    });
  }

  Result<void> visit_set_aside() {
    if (!wanted(WaitingState::kHeld) && !wanted(WaitingState::kFailed)) return {};
    return store_.visit_set_aside(std::nullopt, [this](Fingerprint, std::string_view value) {
      const auto record = decode_set_aside(value);
      const auto url = record ? set_aside_url(*record) : std::nullopt;
      if (!url) {
        ++damaged_;
        return true;
      }
      return take(*url);
    });
  }

  // Returns false to stop.
  bool take(HostId host, std::string_view record, const DumpedUrl& waiting) {
    if (host_ && host != *host_) return true;
    const auto decoded = decode_record(record);
    if (!decoded) {
      ++damaged_;
      return true;
    }
    const std::string name = queue_of(*decoded);
    // Without the key of host ids, hosts are compared by name.
    if (!options_.host.empty() && name != options_.host) return true;
    DumpedUrl url = dumped_url(*decoded, name);
    url.priority = waiting.priority;
    url.state = waiting.state;
    url.not_before = waiting.not_before;
    if (depths_) {
      const auto depth = depths_->of(*decoded);
      if (!depth) {
        done_ = tl::unexpected(depth.error());
        return false;
      }
      url.depth = *depth;
    }
    done_ = visit_(url);
    return done_.has_value();
  }

  bool take(const SetAsideUrl& url) {
    const DumpedUrl dumped = dumped_url(url);
    if (!wanted(dumped.state) || (!options_.host.empty() && url.host != options_.host)) return true;
    done_ = visit_(dumped);
    return done_.has_value();
  }

  const Store& store_;
  const DumpOptions& options_;
  const std::function<Result<void>(const DumpedUrl&)>& visit_;
  std::optional<HostId> host_;  // of options_.host, if the key of host ids is known
  std::optional<SmallestDepths> depths_;
  std::uint64_t damaged_ = 0;
  Result<void> done_;
};

}  // namespace

Result<void> dump_frontier(const std::filesystem::path& directory, const DumpOptions& options,
                           const std::function<Result<void>(const DumpedUrl&)>& visit) {
  const auto stopped = StoppedFrontier::open_to_read(directory);
  if (!stopped) return tl::unexpected(stopped.error());
  return Dump(*stopped->store, stopped->manifest, options, visit).run();
}

}  // namespace trawl
