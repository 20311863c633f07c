#include "frontier/recovery/revive.h"

#include <set>
#include <utility>

#include "frontier/recovery/stopped_frontier.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

constexpr std::size_t kNamesReported = 1000;
// Hosts changed by one write: bounds the memory.
constexpr std::size_t kRevivedAtOnce = 1000;

class Revival {
 public:
  explicit Revival(Store& store) : store_(store) {}

  Result<void> revive_all() {
    Result<void> done;
    auto read = store_.visit_hosts(0, [&](HostId host, HostRecord record) {
      if (record.given_up) done = revive(host, std::move(record));
      return done.has_value();
    });
    return read ? done : read;
  }

  Result<void> revive_named(HostId host, const std::string& name) {
    auto record = store_.host(host);
    if (!record) return tl::unexpected(record.error());
    if (*record && (*record)->given_up) return revive(host, std::move(**record));
    bool known = record->has_value();
    auto read = store_.visit_queued_hosts(host, [&](HostId next) {
      known = known || next == host;
      return false;
    });
    (known ? report_.not_parked : report_.unknown).push_back(name);
    return read;
  }

  Result<ReviveReport> finish() {
    if (auto written = write(); !written) return tl::unexpected(written.error());
    if (auto synced = store_.sync(); !synced) return tl::unexpected(synced.error());
    return std::move(report_);
  }

 private:
  Result<void> revive(HostId host, HostRecord record) {
    ++report_.revived;
    if (report_.hosts.size() < kNamesReported) report_.hosts.push_back(record.name);
    record.given_up = false;
    record.failures = 0;
    record.blocked_until = 0;
    if (record.is_default()) record.name.clear();
    if (record.is_default() && !record.answered) {
      batch_.remove_host(host);
    } else {
      batch_.set_host(host, record);
    }
    return batch_.size() < kRevivedAtOnce ? Result<void>{} : write();
  }

  Result<void> write() {
    if (batch_.size() == 0) return {};
    auto written = store_.write(batch_);
    batch_.clear();
    return written;
  }

  Store& store_;
  Store::Batch batch_;
  ReviveReport report_;
};

}  // namespace

Result<ReviveReport> revive_hosts_in(const std::filesystem::path& directory,
                                     std::span<const std::string> hosts) {
  const auto stopped = StoppedFrontier::open(directory);
  if (!stopped) return tl::unexpected(stopped.error());
  // Host ids need the manifest's key; without a manifest the frontier cannot be opened either.
  if (!stopped->manifest) return error(ErrorCode::kCorrupt, stopped->warnings.front());
  Revival revival(*stopped->store);
  if (hosts.empty()) {
    if (auto done = revival.revive_all(); !done) return tl::unexpected(done.error());
  }
  const UrlIdentity identity(KeyedHash::from_key(stopped->manifest->hash_key), Profile{});
  for (const std::string& name : std::set<std::string>(hosts.begin(), hosts.end())) {
    if (auto done = revival.revive_named(identity.host(name), name); !done)
      return tl::unexpected(done.error());
  }
  return revival.finish();
}

}  // namespace trawl
