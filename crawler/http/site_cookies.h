// SiteCookies: the cookies of a crawl, by site, for all its threads and its next runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "crawler/config/cookies_file.h"
#include "crawler/http/body_memory_budget.h"

namespace trawl {

// Each thread has jars of libcurl (CookieJars), which take a site's cookies from here when they
// have changed, and give them back after each response that sets some. Lines have the form of
// CookiesFile. Thread-safe.
class SiteCookies {
 public:
  // Of all sites, except the imported cookies. Those of sites unused for longest go first.
  static constexpr std::size_t kMaxBytes = 8u << 20;

  struct Cookies {
    std::uint64_t version = 0;  // different for each change
    bool imported = false;      // the site has cookies of the user's file, which are secrets
    std::vector<std::string> lines;
  };

  // The memory is counted in `budget`, if not null.
  explicit SiteCookies(std::shared_ptr<BodyMemoryBudget> budget = nullptr);

  // Adds cookies of the user's file, in place of those with the same domain, path and name.
  void import(const CookiesFile& file) TRAWL_EXCLUDES(mutex_);
  // The cookies of a site; null if they still have the version `known`, or if there are none.
  std::shared_ptr<const Cookies> find(const std::string& site, std::uint64_t known)
      TRAWL_EXCLUDES(mutex_);
  // The cookies of the user's file for that site.
  std::vector<std::string> imported(const std::string& site) TRAWL_EXCLUDES(mutex_);
  // Sets the cookies of a site, which were of version `base` before a server changed them. If
  // another thread changed them meanwhile, its other cookies stay. Returns the new version.
  std::uint64_t put(const std::string& site, std::uint64_t base, std::vector<std::string> lines)
      TRAWL_EXCLUDES(mutex_);

  // The file of a state directory, which only its owner can read.
  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "cookies.txt";
  }
  struct StoredSite {
    CookiesOfSite cookies;
    bool imported = false;
  };
  struct Stored {
    std::vector<StoredSite> sites;  // most recently used first
    std::size_t damaged = 0;        // lines that are left out
  };
  // What that file has, except cookies that have expired. All that save() writes is read, whatever
  // its size. Errors: those of InputFile.
  static Result<Stored> read(
      const std::filesystem::path& state_dir,
      std::chrono::system_clock::time_point now = std::chrono::system_clock::now());
  // Adds these cookies. What was imported in an earlier run stays secret.
  void add(const Stored& stored) TRAWL_EXCLUDES(mutex_);
  // Writes that file, if the cookies have changed since. Errors: those of replace_file().
  Result<void> save(const std::filesystem::path& state_dir) TRAWL_EXCLUDES(mutex_);

 private:
  struct Site {
    std::string name;
    std::shared_ptr<const Cookies> cookies;
    std::shared_ptr<const Cookies> imported = {};  // null: none; often the same as `cookies`
    std::size_t bytes = 0;                         // of `cookies`
  };
  using Place = std::list<Site>::iterator;

  Place place_of(const std::string& site) TRAWL_REQUIRES(mutex_);
  void set(Place place, std::vector<std::string> lines, bool imported) TRAWL_REQUIRES(mutex_);
  void merge(const CookiesOfSite& added, bool imported) TRAWL_REQUIRES(mutex_);
  void keep_small() TRAWL_REQUIRES(mutex_);

  Mutex mutex_;
  TableCharge charge_;
  std::list<Site> by_use_ TRAWL_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::string, Place> sites_ TRAWL_GUARDED_BY(mutex_);
  std::size_t bytes_ TRAWL_GUARDED_BY(mutex_) = 0;  // of sites that are not imported
  std::uint64_t version_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::uint64_t saved_ TRAWL_GUARDED_BY(mutex_) = 0;  // version_ when last written
};

}  // namespace trawl
