// CookieJars: the cookies of one client, in separate jars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include <curl/curl.h>

#include "base/one_thread.h"
#include "crawler/http/body_memory_budget.h"
#include "crawler/http/site_cookies.h"
#include "crawler/http/tls_sessions.h"

namespace trawl {

// The cookies of requests that share a jar.
class CookieJar {
 public:
  // Also counts its bytes, including those of an empty jar, in `total`. A libcurl handle has only
  // one share: with `tls`, the share of the cookies keeps TLS sessions too. With `site_cookies`,
  // the cookies are those of the site that is called `name`.
  CookieJar(std::shared_ptr<TableCharge> total, bool tls, std::string name = {},
            std::shared_ptr<SiteCookies> site_cookies = nullptr);
  ~CookieJar();
  CookieJar(const CookieJar&) = delete;
  CookieJar& operator=(const CookieJar&) = delete;

  bool keeps_tls_sessions() const noexcept { return tls_; }
  // Created at the first call; null if memory ran out.
  CURLSH* share();
  // Call before a request. `easy`: a handle that uses the share.
  void update(CURL* easy);
  // Whether it has cookies of the user's file, as of the last update().
  bool has_imported() const noexcept { return imported_; }
  // Call with the size of each Set-Cookie header received.
  void add(std::size_t bytes) noexcept {
    changed_ = true;
    set_bytes(bytes_ + bytes);
  }
  // Call after a response, with a handle that uses the share. Deletes all cookies if they take too
  // much memory, except those of the user's file.
  void keep(CURL* easy);

 private:
  void keep_small(CURL* easy);
  void give_to_site(CURL* easy);
  void set_bytes(std::size_t bytes) noexcept;
  std::size_t overhead() const noexcept;

  const bool tls_;
  CurlShare share_;
  std::shared_ptr<TableCharge> total_;
  std::size_t bytes_ = 0;  // upper bound: cookies that replace others count again
  const std::string name_;
  const std::shared_ptr<SiteCookies> site_cookies_;
  std::uint64_t version_ = 0;  // of the site's cookies
  bool imported_ = false;
  bool changed_ = false;  // by a server, since they were given to the site
};

// For one thread.
class CookieJars {
 public:
  static constexpr std::size_t kMaxJars = 10'000;
  static constexpr std::size_t kMaxJarBytes = 16 * 1024;
  static constexpr std::size_t kMaxJarsWithTls = 256;
  // Limit of all jars, including libcurl's memory for empty jars and TLS sessions.
  static constexpr std::size_t kMaxBytes = 8 << 20;
  static constexpr std::size_t kBytesOfAnEmptyJar = 1024;
  static constexpr std::size_t kBytesOfTls = 10 * 1024;

  // The memory is counted in `budget`, if not null. `site_cookies`: see CookieJar.
  explicit CookieJars(std::size_t max_jars = kMaxJars, std::size_t max_bytes = kMaxBytes,
                      std::shared_ptr<BodyMemoryBudget> budget = nullptr,
                      std::shared_ptr<SiteCookies> site_cookies = nullptr)
      : max_jars_(max_jars),
        max_bytes_(max_bytes),
        site_cookies_(std::move(site_cookies)),
        total_(std::make_shared<TableCharge>(std::move(budget))) {}
  // Returns the jar of that name. The least recently used jars are deleted if there are too many,
  // or they take too much memory.
  std::shared_ptr<CookieJar> find(const std::string& name);
  std::size_t size() const noexcept { return jars_.size(); }

 private:
  struct Named {
    std::string name;
    std::shared_ptr<CookieJar> jar;
  };
  bool too_many() const noexcept {
    return jars_.size() >= max_jars_ || total_->bytes() > max_bytes_;
  }

  const std::size_t max_jars_;
  std::size_t jars_with_tls_ = 0;
  const std::size_t max_bytes_;
  const std::shared_ptr<SiteCookies> site_cookies_;
  const std::shared_ptr<TableCharge> total_;
  std::list<Named> by_use_;  // most recently used first
  std::unordered_map<std::string, std::list<Named>::iterator> jars_;
  OneThread thread_;
};

}  // namespace trawl
