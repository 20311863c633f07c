// SeedRedirects: where the seeds of a crawl redirect to, if that is outside the scope of the seeds.
// Such a target counts as a seed: its host belongs to the scope as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "base/mutex.h"
#include "crawler/config/crawl_config.h"
#include "crawler/decide/seed_members.h"
#include "crawler/decide/seed_settings.h"

namespace trawl {

struct SeedRedirect {
  std::string seed;
  std::string target;
  // False: kMost others were added before, so that the target is not fetched.
  bool followed = true;
};

// Stored in a file of the state directory, for later runs and `trawl explain`: a line
// "seed redirects 1", then for each redirect a line with the seed, a tab and the target, in the
// order in which they were found. Needs no room while there is none.
class SeedRedirects {
 public:
  // How many targets widen the scope; targets that others cover need no place.
  static constexpr std::size_t kMost = 1000;

  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "seed-redirects";
  }

  // Those that a crawl has found so far, to be read only. A missing file has none. Errors: kIo;
  // kCorrupt if it is not such a file. A target counts by the scope.type and the depth that
  // `settings`, not null, give its seed.
  static Result<std::shared_ptr<SeedRedirects>> read(const std::filesystem::path& state_dir,
                                                     std::shared_ptr<const SeedSettings> settings,
                                                     const Canonicalizer& canonicalizer);

  // From now on add() writes to the file of the state directory. A new crawl has none yet.
  Result<void> begin(const std::filesystem::path& state_dir, bool resumed);

  // Adds the target of a redirect, which is durable when this returns. Thread-safe. Errors: kIo,
  // kNoSpace.
  Result<void> add(const Url& seed, const Url& target) TRAWL_EXCLUDES(mutex_);
  // Whether the URL, found at that depth, belongs to a target. Thread-safe; costs next to nothing
  // while there is none.
  SeedSettings::Place place_of(const Url& url, std::uint32_t depth) const TRAWL_EXCLUDES(mutex_);
  bool covers(const Url& url) const { return place_of(url, 0) == SeedSettings::Place::kInside; }
  // From now on targets count by these settings. Thread-safe.
  void set_settings(std::shared_ptr<const SeedSettings> settings) TRAWL_EXCLUDES(mutex_);
  // Those of this and earlier runs. Thread-safe.
  std::vector<SeedRedirect> found() const TRAWL_EXCLUDES(mutex_);
  // How many were not followed; found() has the first of them.
  std::uint64_t not_followed() const TRAWL_EXCLUDES(mutex_);

 private:
  SeedRedirects(std::shared_ptr<const SeedSettings> settings, const Canonicalizer& canonicalizer);

  // Targets of seeds with the same limits.
  struct Group {
    ScopeType type;
    std::optional<std::uint32_t> depth;
    SeedMembers members;
  };

  SeedSettings::Place find_place(const Url& url, std::uint32_t depth) const TRAWL_REQUIRES(mutex_);
  // Whether the URL belongs to targets that may lead on as deep as those of the seed.
  bool is_covered(const Url& url, const Url& seed) const TRAWL_REQUIRES(mutex_);
  SeedMembers& members_of(const Url& seed) TRAWL_REQUIRES(mutex_);
  Result<void> write() const TRAWL_REQUIRES(mutex_);

  const Canonicalizer canonicalizer_;
  mutable Mutex mutex_;
  std::shared_ptr<const SeedSettings> settings_ TRAWL_GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};
  std::vector<Group> groups_ TRAWL_GUARDED_BY(mutex_);
  std::vector<SeedRedirect> found_ TRAWL_GUARDED_BY(mutex_);
  std::size_t followed_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::uint64_t not_followed_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::filesystem::path directory_ TRAWL_GUARDED_BY(mutex_);  // empty: nothing is written
};

}  // namespace trawl
