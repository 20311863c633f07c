#include "crawler/run/host_logins.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/ascii.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

void append_form_text(std::string_view text, std::string& out) {
  for (const char byte : text) {
    if (is_ascii_alphanumeric(byte) || std::string_view("*-._").find(byte) != std::string::npos) {
      out += byte;
    } else if (byte == ' ') {
      out += '+';
    } else {
      append_escape(byte, out);
    }
  }
}

// Whether `query` has each parameter of `of`.
bool has_parameters(std::string_view query, std::string_view of) {
  const auto next = [](std::string_view& rest) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    return one;
  };
  while (!of.empty()) {
    const std::string_view wanted = next(of);
    bool found = wanted.empty();
    for (std::string_view rest = query; !found && !rest.empty();)
      found = next(rest) == wanted;
    if (!found) return false;
  }
  return true;
}

}  // namespace

std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) form += '&';
    append_form_text(name, form);
    form += '=';
    append_form_text(value, form);
  }
  return form;
}

HostLogins::HostLogins(const std::vector<LoginText>& texts) {
  for (const LoginText& text : texts) {
    const auto url = Url::parse(text.url);
    if (!url) continue;
    std::string_view page = text.page;
    if (page.empty()) page = std::string_view(text.url).substr(0, text.url.find('?'));
    if (!hosts_.add(text.host, logins_.size())) continue;
    logins_.push_back(
        {.url = *url, .form = form_of(text.fields), .page = Url::parse(page).value_or(*url)});
  }
  states_.resize(logins_.size());
}

bool HostLogins::leads_to_page(std::size_t login, const Url& to) const {
  const Url& page = logins_[login].page;
  return to.hostname() == page.hostname() && to.path() == page.path() &&
         has_parameters(to.query(), page.query());
}

HostLogins::Turn HostLogins::turn(std::size_t login, Time now) {
  const MutexLock lock(mutex_);
  State& state = states_[login];
  if (state.asking) return {Turn::Do::kWait, now + kPoll};
  if (!state.wanted) return {};
  if (in_minute(state, now)) {
    if (state.waits) return {Turn::Do::kWait, *state.asked_at + kBetween};
    return {};
  }
  state.asking = true;
  return {Turn::Do::kLogIn, now};
}

void HostLogins::not_sent(std::size_t login) {
  const MutexLock lock(mutex_);
  states_[login].asking = false;
}

void HostLogins::answered(std::size_t login, Time sent, Time now, bool good) {
  const MutexLock lock(mutex_);
  State& state = states_[login];
  state.asking = state.waits = state.worked = state.warned = false;
  state.good = good;
  state.wanted = !good;
  state.asked_at = sent;
  state.since = now;
}

HostLogins::Verdict HostLogins::ask_again(State& state, std::size_t url) {
  if (state.again.size() >= kMostAgain) state.again.clear();
  state.again.insert(url);
  return {.again = true};
}

HostLogins::Verdict HostLogins::on_answer(std::size_t login, std::string_view url, Time sent,
                                          Answer answer, Time now) {
  const MutexLock lock(mutex_);
  State& state = states_[login];
  const std::size_t key = std::hash<std::string_view>{}(url);
  const bool asked_again = state.again.erase(key) > 0;
  const bool of_session = state.good && sent >= state.since;
  if (answer == Answer::kOther) return {};
  if (answer == Answer::kGood) {
    if (of_session) state.worked = true;
    if (asked_again) state.useless = false;
    return {};
  }
  if (!asked_again) {
    // Of a session before, or a login is on its way.
    if (state.asking || (state.good && sent < state.since)) return ask_again(state, key);
    const bool waits = state.good && state.worked && !state.useless;
    if (!in_minute(state, now) || waits) {
      state.wanted = true;
      state.waits = waits;
      return ask_again(state, key);
    }
  } else if (of_session) {
    state.useless = true;
  }
  return {.warn = state.good && !std::exchange(state.warned, true)};
}

}  // namespace trawl
