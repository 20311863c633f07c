// CookieJars: the cookies of one client, in jars that know nothing of each other.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include <curl/curl.h>

#include "base/one_thread.h"
#include "crawler/http/body_budget.h"
#include "crawler/http/tls_sessions.h"

namespace trawl {

// The cookies of the requests that share a jar. In memory only.
class CookieJar {
 public:
  // Counts its bytes, and what an empty jar takes, in `total` too. A handle has one share: with
  // `tls`, that of the cookies keeps TLS sessions as well.
  CookieJar(std::shared_ptr<HeldMemory> total, bool tls);
  ~CookieJar();
  CookieJar(const CookieJar&) = delete;
  CookieJar& operator=(const CookieJar&) = delete;

  bool keeps_tls_sessions() const noexcept { return tls_; }
  // Made when first asked for; null if there is no memory.
  CURLSH* share();
  // Whoever receives a Set-Cookie header tells its size.
  void add(std::size_t bytes) noexcept { set_bytes(bytes_ + bytes); }
  // With a handle that has the share: throws the cookies away if they have become too many.
  void keep_small(CURL* easy);

 private:
  void set_bytes(std::size_t bytes) noexcept;
  std::size_t overhead() const noexcept;

  const bool tls_;
  CurlShare share_;
  std::shared_ptr<HeldMemory> total_;
  std::size_t bytes_ = 0;  // at most this large; cookies that replace others count again
};

// Of one thread.
class CookieJars {
 public:
  static constexpr std::size_t kMaxJars = 10'000;
  static constexpr std::size_t kMaxJarBytes = 16 * 1024;
  static constexpr std::size_t kMaxJarsWithTls = 256;
  // Of all jars, with what libcurl takes for an empty one and for a TLS session.
  static constexpr std::size_t kMaxBytes = 8 << 20;
  static constexpr std::size_t kBytesOfAnEmptyJar = 1024;
  static constexpr std::size_t kBytesOfTls = 10 * 1024;

  // What they take is held of `budget`, if there is one.
  explicit CookieJars(std::size_t max_jars = kMaxJars, std::size_t max_bytes = kMaxBytes,
                      std::shared_ptr<BodyBudget> budget = nullptr)
      : max_jars_(max_jars),
        max_bytes_(max_bytes),
        total_(std::make_shared<HeldMemory>(std::move(budget))) {}
  // The jar of that name. Those that were not asked for for longest go when there are too many, or
  // they have too much.
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
  const std::shared_ptr<HeldMemory> total_;
  std::list<Named> by_use_;  // the last used first
  std::unordered_map<std::string, std::list<Named>::iterator> jars_;
  OneThread thread_;
};

}  // namespace trawl
