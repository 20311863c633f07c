#include "frontier/registrable_domain.h"

#include <cstddef>

#include <libpsl.h>

#include "frontier/host_parser.h"

namespace trawl {

namespace {

// The newer of the system's list and the one libpsl was built with. Lives as long as the process.
const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = psl_latest(nullptr);
  return list;
}

std::string_view without_trailing_dot(std::string_view hostname) {
  if (hostname.size() > 1 && hostname.back() == '.') hostname.remove_suffix(1);
  return hostname;
}

// The last labels of `hostname`. libpsl tries every label as the start of a suffix; no suffix has
// nearly as many labels as this, so that a host of 100,000 costs no more than one of ten.
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

}  // namespace

std::string_view registrable_domain(std::string_view hostname) {
  hostname = without_trailing_dot(hostname);
  if (is_ip_literal(hostname)) return hostname;
  const std::string tail(last_labels(hostname));
  const char* domain = psl_registrable_domain(public_suffixes(), tail.c_str());
  if (domain == nullptr) return hostname;
  return hostname.substr(hostname.size() - std::string_view(domain).size());
}

std::string politeness_group(const Url& url) {
  std::string group(without_trailing_dot(url.hostname()));
  if (!url.port().empty()) group.append(":").append(url.port());
  return group;
}

}  // namespace trawl
