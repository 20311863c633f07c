#include "url/registrable_domain.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <libpsl.h>

#include "url/host_parser.h"

namespace trawl {

namespace {

// The newer of the system's list and libpsl's built-in one. Never freed.
const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = psl_latest(nullptr);
  return list;
}

// The last labels of `hostname`. libpsl tries every label as the start of a suffix. No suffix has
// as many labels as are kept, so a host of 100,000 labels costs no more than one of ten.
std::string_view last_labels(std::string_view hostname) {
  constexpr int kLabels = 10;
  std::size_t start = hostname.size();
  for (int i = 0; i < kLabels && start != 0; ++i) {
    const std::size_t dot = hostname.rfind('.', start - 1);
    if (dot == std::string_view::npos) return hostname;
    start = dot;
  }
  return hostname.substr(start == 0 ? 0 : start + 1);
}

// The length of the registrable domain at the end of `name`; 0 if there is none. libpsl takes about
// a microsecond, and the links of a page go to few hosts, so each thread caches some answers.
std::size_t look_up(std::string_view name) {
  struct Answer {
    std::string name;
    std::size_t length = 0;
  };
  constexpr std::size_t kAnswers = 256;
  constexpr std::size_t kLongestKept = 253;  // no host has a longer name
  thread_local std::array<Answer, kAnswers> answers;
  Answer& answer = answers[std::hash<std::string_view>{}(name) % kAnswers];
  if (!name.empty() && answer.name == name) return answer.length;
  const std::string text(name);
  const char* domain = psl_registrable_domain(public_suffixes(), text.c_str());
  const std::size_t length = domain == nullptr ? 0 : std::strlen(domain);
  if (name.size() <= kLongestKept) {
    answer.name = name;
    answer.length = length;
  }
  return length;
}

std::size_t registrable_length(std::string_view hostname) {
  return is_ip_literal(hostname) ? 0 : look_up(last_labels(hostname));
}

}  // namespace

std::string_view group_host(const Url& url) noexcept {
  return without_trailing_dot(url.hostname());
}

std::string_view registrable_domain(std::string_view hostname) {
  hostname = without_trailing_dot(hostname);
  const std::size_t length = registrable_length(hostname);
  assert(length <= hostname.size());
  return length == 0 ? hostname : hostname.substr(hostname.size() - length);
}

bool has_registrable_domain(std::string_view hostname) {
  return registrable_length(without_trailing_dot(hostname)) != 0;
}

std::string politeness_group(const Url& url, PolitenessGroup by) {
  if (by == PolitenessGroup::kDomain) return std::string(registrable_domain(url.hostname()));
  std::string group(group_host(url));
  const std::string_view port = url.port();
  // http://h/ and https://h:80/ both reach port 80, http://h:443/ and https://h/ both port 443.
  if (!port.empty() && port != "80" && port != "443") group.append(":").append(port);
  return group;
}

}  // namespace trawl
