// HostLogins: when to log in to which host, and whether an answer means that the session has ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trawl/url.h"

#include "base/mutex.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/host_places.h"

namespace trawl {

// A host is logged in to before the first of its URLs is fetched, and again when a page answers as
// if nobody were, at most once a minute. A URL that met the end of a session is fetched again,
// once. A login that fails does not hold the crawl up: its pages are fetched as they are.
//
// A session that ends within a minute of its login is worth waiting for the next one, if it has
// worked; but not if the last login changed nothing for the URLs it was repeated for: they may be
// forbidden to this user. Thread-safe; the caller gives the time.
class HostLogins {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kBetween{60};
  // After this, one asks again whether another thread has logged in.
  static constexpr std::chrono::milliseconds kPoll{250};

  // Immutable.
  struct Login {
    Url url;
    std::string form;  // as it is sent; a secret
    Url page;          // of the form
  };

  explicit HostLogins(const std::vector<LoginText>& texts);

  bool empty() const noexcept { return logins_.empty(); }
  const Login& operator[](std::size_t login) const noexcept { return logins_[login]; }
  // The login for a URL: the exact entry for its host, else that of the longest domain.
  std::optional<std::size_t> find(const Url& url) const { return hosts_.find(url.hostname()); }
  // Whether that leads to the page of the form. Its query must have the parameters of the page's,
  // and may have others; schemes and ports do not matter.
  bool leads_to_page(std::size_t login, const Url& to) const;

  // What is done with a URL of the login's host.
  struct Turn {
    enum class Do : std::uint8_t {
      kFetch,
      kLogIn,  // then call answered() or not_sent()
      kWait,   // until `at`
    };
    Do what = Do::kFetch;
    Time at{};
  };
  Turn turn(std::size_t login, Time now) TRAWL_EXCLUDES(mutex_);
  void not_sent(std::size_t login) TRAWL_EXCLUDES(mutex_);
  void answered(std::size_t login, Time sent, Time now, bool good) TRAWL_EXCLUDES(mutex_);

  enum class Answer : std::uint8_t {
    kLoggedOut,
    kGood,   // a page, or a redirect elsewhere
    kOther,  // an error that says nothing of the session
  };
  struct Verdict {
    bool again = false;  // the URL is to be fetched again
    bool warn = false;   // logged out in spite of a login, for the first time since that
  };
  // Takes the answer to a request that was sent at `sent`.
  Verdict on_answer(std::size_t login, std::string_view url, Time sent, Answer answer, Time now)
      TRAWL_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kMostAgain = 10'000;

  struct State {
    bool wanted = true;
    bool asking = false;
    bool waits = false;    // for the minute to pass, instead of fetching without a session
    bool good = false;     // the last login
    bool worked = false;   // a page was good since then
    bool useless = false;  // the last repeated login changed nothing
    bool warned = false;   // since the last login
    std::optional<Time> asked_at = {};
    Time since = Time::max();                    // of the session
    std::unordered_set<std::size_t> again = {};  // hashes of URLs that are fetched again
  };

  static bool in_minute(const State& state, Time now) {
    return state.asked_at && now < *state.asked_at + kBetween;
  }
  static Verdict ask_again(State& state, std::size_t url);

  std::vector<Login> logins_;
  HostPlaces hosts_;
  Mutex mutex_;
  std::vector<State> states_ TRAWL_GUARDED_BY(mutex_);
};

// application/x-www-form-urlencoded: https://url.spec.whatwg.org/#urlencoded-serializing
std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace trawl
