// UrlKnowledge: what a crawl knows of one URL and its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trawl/canonical_profile.h"
#include "trawl/lease.h"
#include "trawl/set_aside.h"
#include "trawl/url.h"

namespace trawl {

// How the last fetch of a URL ended, if the crawl keeps a ledger.
struct LastFetch {
  std::uint32_t fetches = 0;
  int status = 0;
  SystemTime ended;
};

struct UrlKnowledge {
  enum class Found : std::uint8_t {
    kNoCrawl,     // the directory holds no crawl
    kInUse,       // a process has the directory open
    kUnreadable,  // `note` says why
    kRead,        // from the files of a stopped crawl
    kRunning,     // by asking the crawl
  };
  enum class Waits : std::uint8_t {
    kNo,
    kQueued,    // in its host's queue
    kDeferred,  // until `due`: a retry or a recrawl
    kLeased,    // its request is under way
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
  Waits waits = Waits::kNo;
  std::optional<SystemTime> due = {};
  HostInfo host = {};  // only a name if the crawl does not know the host

  // Only of a running crawl.
  bool paused = false;
  bool draining = false;
  std::optional<std::chrono::milliseconds> delay = {};  // of the host, as it is in effect
  std::optional<SystemTime> next_start = {};            // of the host's next request
  std::string host_reason = {};                         // why it is blocked or parked

  bool is_known() const { return found == Found::kRead || found == Found::kRunning; }
};

// Where to ask about URLs.
class UrlKnowledgeSource {
 public:
  virtual ~UrlKnowledgeSource() = default;
  // `profile`: the rules for keys of the config that explains.
  virtual UrlKnowledge look_up(const Url& url, const Profile& profile) = 0;
};

// A stopped crawl, whose lock is held and whose store is open as long as the object lives. Changes
// nothing. The filter is not loaded: its newest checkpoint is mapped, and the admission log since
// then is read.
class StoppedCrawlFiles final : public UrlKnowledgeSource {
 public:
  explicit StoppedCrawlFiles(const std::filesystem::path& directory);
  ~StoppedCrawlFiles() override;
  UrlKnowledge look_up(const Url& url, const Profile& profile) override;

 private:
  struct Opened;
  const std::filesystem::path directory_;
  std::unique_ptr<Opened> opened_;
};

}  // namespace trawl
