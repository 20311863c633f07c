// What the state directory of a stopped crawl says about one URL and its host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trawl/canonical_profile.h"
#include "trawl/lease.h"
#include "trawl/set_aside.h"
#include "trawl/url.h"

namespace trawl::cli {

// How the last fetch of a URL ended, if the crawl keeps a ledger.
struct LastFetch {
  std::uint32_t fetches = 0;
  int status = 0;
  SystemTime ended;
};

struct StoredUrlState {
  enum class Found : std::uint8_t {
    kNoCrawl,     // the directory holds no crawl
    kInUse,       // a process has the directory open
    kUnreadable,  // `note` says why
    kRead,
  };
  Found found = Found::kNoCrawl;
  std::string note = {};  // for kInUse and kUnreadable

  std::string key = {};           // by the rules that the crawl was started with
  bool other_rules = false;       // the crawl's rules differ from the config's
  std::optional<bool> seen = {};  // by the filter; absent: unknown, `seen_note` says why
  std::string seen_note = {};
  std::optional<LastFetch> fetch = {};
  // If the crawl set the URL aside: why, and how it was found.
  std::optional<SetAsideUrl> set_aside = {};
  HostInfo host = {};  // only a name if the crawl does not know the host
};

// Looks `url` up in the state directory `directory`, holding its lock meanwhile. Changes nothing.
// The filter is not loaded: its newest checkpoint is mapped, and the admission log since then is
// read.
StoredUrlState look_up_state(const std::filesystem::path& directory, const Url& url,
                             const Profile& profile);

}  // namespace trawl::cli
