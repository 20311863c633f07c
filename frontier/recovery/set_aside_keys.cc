// Moves each record from its old key to its new one. If another record is at the new key and has to
// move too, it moves in the same batch, and so on, so that after each batch every URL is in the
// store exactly once. After a crash the process starts again, and finds the records moved before at
// their right keys.
#include "frontier/recovery/set_aside_keys.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "frontier/store/set_aside_record.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

// Bounds the memory.
constexpr std::size_t kChangesAtOnce = 1000;

class SetAsideMover {
 public:
  SetAsideMover(Store& store, const Profile& profile, const KeyedHash& hash, Counters& counters)
      : store_(store), identity_(hash, profile), counters_(counters) {}

  Result<void> run() {
    Result<void> moved;
    auto read = store_.visit_set_aside(std::nullopt, [&](Fingerprint key, std::string_view value) {
      if (key_of(value, key) == key) return true;
      moved = move_from(key);
      if (moved && changed_.size() >= kChangesAtOnce) moved = write();
      return moved.has_value();
    });
    if (!moved) return moved;
    return read ? write() : read;
  }

 private:
  using Value = std::optional<std::string>;

  // Returns `now` for a record that cannot be decoded: it stays where it is.
  Fingerprint key_of(std::string_view value, Fingerprint now) {
    const auto record = decode_set_aside(value);
    const auto queued = record ? decode_record(record->url_record) : std::nullopt;
    return queued ? identity_.of(*queued).value_or(now) : now;
  }

  Result<Value> find(Fingerprint key) const {
    const auto changed = changed_.find(key);
    return changed != changed_.end() ? Result<Value>(changed->second) : store_.set_aside(key);
  }

  Result<void> move_from(Fingerprint key) {
    auto found = find(key);
    if (!found) return tl::unexpected(found.error());
    // Since the record was read, it may have moved and another one taken its place.
    if (!*found || key_of(**found, key) == key) return {};
    changed_[key] = std::nullopt;
    for (Value moving = std::move(*found); moving;) {
      key = key_of(*moving, key);
      found = find(key);
      if (!found) return tl::unexpected(found.error());
      Value& place = changed_[key];
      if (*found && key_of(**found, key) == key) {
        place = join(*std::move(*found), *std::move(moving));
        return {};
      }
      place = std::exchange(moving, std::move(*found));
    }
    return {};
  }

  // Chooses between two records of one URL: a URL that was queued takes precedence over a link.
  std::string join(std::string there, std::string other) {
    const auto first = decode_set_aside(there);
    const auto second = decode_set_aside(other);
    if (first && second && second->was_queued && !first->was_queued) std::swap(there, other);
    if (const auto dropped = decode_set_aside(other)) {
      std::uint64_t& count =
          dropped->state == SetAsideState::kHeld ? counters_.held : counters_.set_aside_failed;
      count -= count > 0 ? 1 : 0;
    }
    return there;
  }

  Result<void> write() {
    Store::Batch batch;
    for (const auto& [key, value] : changed_) {
      if (value) {
        batch.set_aside(key, *value);
      } else {
        batch.remove_set_aside(key);
      }
    }
    changed_.clear();
    batch.set_counters(counters_);
    return store_.write(batch);
  }

  Store& store_;
  const UrlIdentity identity_;
  Counters& counters_;
  std::map<Fingerprint, Value> changed_;  // not yet written; nullopt: removed
};

constexpr std::string_view kChanged = "changed ";

Result<void> note_rules(Store& store, std::string_view rules) {
  Store::Batch batch;
  batch.set_aside_rules(rules);
  return store.write(batch);
}

}  // namespace

Result<bool> fit_set_aside_keys(Store& store, const Profile& profile, const KeyedHash& hash,
                                Counters& counters) {
  std::string rules = profile.name();
  const auto known = store.set_aside_rules();
  if (!known) return tl::unexpected(known.error());
  bool changed = known->starts_with(kChanged);
  if (known->substr(changed ? kChanged.size() : 0) == rules) return changed;
  if (counters.set_aside() > 0) {
    // During the moves the keys follow neither the old rules nor the new ones.
    if (auto noted = note_rules(store, {}); !noted) return tl::unexpected(noted.error());
    if (auto moved = SetAsideMover(store, profile, hash, counters).run(); !moved)
      return tl::unexpected(moved.error());
    changed = true;
  }
  if (changed) rules.insert(0, kChanged);
  if (auto noted = note_rules(store, rules); !noted) return tl::unexpected(noted.error());
  return changed;
}

}  // namespace trawl
