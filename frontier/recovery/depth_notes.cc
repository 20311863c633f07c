#include "frontier/recovery/depth_notes.h"

#include <algorithm>
#include <limits>

#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

// Ignores records that cannot be decoded: they are reported when they are leased.
void add(std::string_view record, const UrlIdentity& identity, WaitingDepths& depths) {
  if (depth_of_record(record) == 0) return;
  const auto url = decode_record(record);
  const auto fingerprint = url ? identity.of(*url) : std::nullopt;
  if (fingerprint) depths.add(*fingerprint, url->depth);
}

// URLs set aside come first: they are few and stored by fingerprint, whereas there may be any
// number of deferred and queued ones.
Result<void> read_waiting(const Store& store, const UrlIdentity& identity, WaitingDepths& depths) {
  auto read = store.visit_set_aside(std::nullopt, [&](Fingerprint key, std::string_view value) {
    const auto record = decode_set_aside(value);
    if (record && record->was_queued) depths.add(key, depth_of_record(record->url_record));
    return !depths.is_full();
  });
  if (!read || depths.is_full()) return read;
  read = store.visit_deferred([&](const DeferredUrl& url) {
    add(url.record, identity, depths);
    return !depths.is_full();
  });
  if (!read || depths.is_full()) return read;
  return store.visit_pending(std::nullopt, [&](HostId, const QueueOrder&, std::string_view record) {
    add(record, identity, depths);
    return !depths.is_full();
  });
}

}  // namespace

Result<void> read_waiting_depths(Store& store, std::uint64_t deepest, const UrlIdentity& identity,
                                 WaitingDepths& depths) {
  if (deepest == 0) return {};
  if (auto read = read_waiting(store, identity, depths); !read) return read;
  if (depths.is_full()) {
    depths.assume_others(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(deepest, std::numeric_limits<std::uint32_t>::max())));
  }
  constexpr std::size_t kAtOnce = 10'000;
  Store::Batch forgotten;
  Result<void> written;
  auto read = store.visit_depths([&](Fingerprint key, std::uint32_t depth) {
    if (depths.may_wait(key)) {
      depths.expect_notes();
      depths.lower(key, depth);
      return true;
    }
    forgotten.forget_depth(key);
    if (forgotten.size() < kAtOnce) return true;
    written = store.write(forgotten);
    forgotten.clear();
    return written.has_value();
  });
  if (!read || !written) return read ? written : read;
  return forgotten.size() > 0 ? store.write(forgotten) : written;
}

}  // namespace trawl
