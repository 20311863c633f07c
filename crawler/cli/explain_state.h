// What a crawl that nobody has open knows of one URL and of its host.
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

struct StateOfUrl {
  enum class Found : std::uint8_t {
    kNoCrawl,     // the directory holds none
    kInUse,       // a process has it open
    kUnreadable,  // `note` says why
    kRead,
  };
  Found found = Found::kNoCrawl;
  std::string note = {};  // for kInUse and kUnreadable

  std::string key = {};           // by the rules the crawl was begun with
  bool other_rules = false;       // than those of the config
  std::optional<bool> seen = {};  // by the filter; nothing: not known, `seen_note` says why
  std::string seen_note = {};
  std::optional<LastFetch> fetch = {};
  // Set aside by the crawl: why, and how it was found.
  std::optional<SetAsideUrl> set_aside = {};
  HostInfo host = {};  // of a host that the crawl does not know: with nothing but its name
};

// Looks `url` up in the state in `directory`, whose lock it holds meanwhile. Changes nothing. The
// filter is not loaded: its newest checkpoint is mapped, and the log of admissions since is read.
StateOfUrl look_up_state(const std::filesystem::path& directory, const Url& url,
                         const Profile& profile);

}  // namespace trawl::cli
