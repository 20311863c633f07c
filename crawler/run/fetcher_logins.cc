// Fetcher: logins. As for a robots.txt that is missing, the lease pays for the login and goes back
// to its queue. The exchange is neither archived nor listed, since it has secrets.
#include <utility>

#include <fmt/format.h>

#include "trawl/url_groups.h"

#include "crawler/config/cookies_file.h"
#include "crawler/log/room_log.h"
#include "crawler/run/fetch_failure.h"
#include "crawler/run/fetcher.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

// More of the answer, which nobody reads, ends its connection.
constexpr std::uint64_t kMaxAnswerBytes = 1024 * 1024;

// Nothing if it was good.
std::string fault_of_login(const HttpResponse& response, const HostLogins& logins,
                           std::size_t place) {
  if (response.failure) return scrubbed(response.error);
  if (response.status >= 400) return fmt::format("status {}", response.status);
  if (!response.is_redirect()) return {};
  const auto to = Url::parse(response.location, &logins[place].url);
  return to && logins.leads_to_page(place, *to) ? "a redirect back to the login page" : "";
}

// Without its query, which may have secrets as the fields do.
std::string shown(const Url& login) {
  const std::string url = without_credentials(login.href());
  return url.substr(0, url.find_first_of("?#"));
}

}  // namespace

bool Fetcher::must_log_in(const OpenLease& open, const Url& url) {
  HostLogins& logins = context_.logins;
  if (logins.empty()) return false;
  const auto place = logins.find(url);
  if (!place) return false;
  const auto turn = logins.turn(*place, std::chrono::steady_clock::now());
  switch (turn.what) {
    case HostLogins::Turn::Do::kFetch:
      return false;
    case HostLogins::Turn::Do::kLogIn:
      log_in(open, *place);
      return true;
    case HostLogins::Turn::Do::kWait:
      release(open, turn.at, std::nullopt);
      return true;
  }
  return false;
}

void Fetcher::log_in(const OpenLease& open, std::size_t place) {
  const HostLogins::Login& login = context_.logins[place];
  const std::string host = politeness_group(login.url);
  HttpRequest request = request_for(login.url);
  const std::string asked = shown(login.url);
  if (is_put_off(open, asked)) return context_.logins.not_sent(place);
  request.form = login.form;
  request.cookie_jar = cookie_site(login.url.hostname());
  request.max_body = request.max_download = kMaxAnswerBytes;
  request.truncate_body = true;
  request.gate = gate_for(open, host);
  const bool own = host == open.lease.host;
  client_->start(request,
                 [this, open, place, own, in_flight = context_.crashes.begin(asked)](
                     const HttpResponse& response) { on_login(open, place, own, response); });
}

void Fetcher::on_login(const OpenLease& open, std::size_t place, bool own,
                       const HttpResponse& response) {
  HostLogins& logins = context_.logins;
  if (response.not_before) {
    logins.not_sent(place);
    return release(open, *response.not_before, std::nullopt);
  }
  const auto asked_at = own ? std::optional(response.sent) : std::nullopt;
  if (response.connection_was_stale || is_local_failure(response.failure)) {  // as in on_page()
    logins.not_sent(place);
    return release(open, response.sent, asked_at);
  }
  count(response);
  const std::string fault = fault_of_login(response, logins, place);
  const std::string url = shown(logins[place].url);
  if (fault.empty()) {
    room_log(LogRoom::kHttp).info("{}: logged in, status {}", url, response.status);
  } else {
    room_log(LogRoom::kHttp)
        .warn(
            "{}: the login failed: {}; check url and fields of [[login]]. Pages are fetched "
            "without it, and it is tried again in a minute",
            url, fault);
  }
  logins.answered(place, response.sent, std::chrono::steady_clock::now(), fault.empty());
  release(open, response.sent, asked_at);
}

bool Fetcher::is_logged_out(const OpenLease& open, const Url& url, const HttpResponse& response) {
  HostLogins& logins = context_.logins;
  if (logins.empty() || response.status == 0) return false;
  const auto place = logins.find(url);
  if (!place) return false;
  using Answer = HostLogins::Answer;
  Answer answer = response.status < 400 ? Answer::kGood : Answer::kOther;
  if (response.status == 401) answer = Answer::kLoggedOut;
  if (response.is_redirect()) {
    const auto to = Url::parse(response.location, &url);
    if (to && logins.leads_to_page(*place, *to)) answer = Answer::kLoggedOut;
  }
  // The page of the form itself says nothing.
  if (logins.leads_to_page(*place, url)) answer = Answer::kOther;
  const auto verdict =
      logins.on_answer(*place, url.href(), response.sent, answer, std::chrono::steady_clock::now());
  if (verdict.warn) {
    room_log(LogRoom::kHttp)
        .warn(
            "{}: {} in spite of the login at {}; check fields of [[login]]. Such answers are taken "
            "as they are until the next login",
            without_credentials(open.lease.url),
            response.status == 401 ? "status 401" : "a redirect to the login page",
            shown(logins[*place].url));
  }
  if (verdict.again) release(open, response.sent, response.sent);
  return verdict.again;
}

}  // namespace trawl
