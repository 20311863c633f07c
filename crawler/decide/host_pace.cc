#include "crawler/decide/host_pace.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/file_io.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Removes what an entry sets.
const HostSettings kNothing = {.delay = milliseconds(0), .exact_delay = false, .leases = 0};

// A line for each entry that sets something in the frontier, beginning with its host.
std::string entries_text(const HostPoliteness& hosts) {
  std::string text;
  for (const HostPolitenessText& entry : hosts.entries()) {
    text += fmt::format("{} {} {} {}\n", entry.host, entry.delay.value_or(milliseconds(-1)).count(),
                        entry.connections.value_or(0), entry.own ? 1 : 0);
  }
  return text;
}

// Empty if there is no file.
Result<std::string> read_entries(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::string();
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) return error(ErrorCode::kIo, "cannot read " + file);
  return text;
}

HostPlaces hosts_of_entries(std::string_view text) {
  HostPlaces places;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!line.empty()) places.add(line.substr(0, line.find(' ')), 0);
  }
  return places;
}

Result<void> visit_hosts(Frontier& frontier,
                         const std::function<Result<void>(const HostInfo&)>& visit) {
  constexpr std::size_t kAtOnce = 10'000;
  std::string after;
  for (;;) {
    const auto hosts = frontier.hosts(after, kAtOnce);
    if (!hosts) return tl::unexpected(hosts.error());
    if (hosts->empty()) return {};
    for (const HostInfo& info : *hosts) {
      if (auto visited = visit(info); !visited) return visited;
    }
    after = hosts->back().host;
  }
}

// Removes delay and number of requests from the hosts of the former entries. Those of the entries
// now get theirs when they are leased from.
Result<void> forget_former(Frontier& frontier, const HostPlaces& former) {
  return visit_hosts(frontier, [&](const HostInfo& info) {
    return former.find(hostname_of_queue(info.host)) ? frontier.set_host(info.host, kNothing)
                                                     : Result<void>{};
  });
}

}  // namespace

HostPace::HostPace(Frontier& frontier, const HostPoliteness& hosts)
    : frontier_(frontier), hosts_(hosts), hash_(KeyedHash::random()) {}

Result<void> HostPace::begin(Frontier& frontier, bool resumed,
                             const std::filesystem::path& state_dir, const HostPoliteness& hosts) {
  const std::string file = path(state_dir).string();
  const auto before = resumed ? read_entries(file) : Result<std::string>();
  if (!before) return tl::unexpected(before.error());
  const std::string now = entries_text(hosts);
  if (now == *before) return {};
  if (!before->empty()) {
    if (auto removed = forget_former(frontier, hosts_of_entries(*before)); !removed) return removed;
  }
  return replace_file(file, now);
}

Result<void> HostPace::note_entries(const std::filesystem::path& state_dir,
                                    const HostPoliteness& hosts) {
  const std::string file = path(state_dir).string();
  const auto before = read_entries(file);
  if (!before) return tl::unexpected(before.error());
  const std::string now = entries_text(hosts);
  if (now.empty() || now == *before) return {};
  return replace_file(file, *before + now);
}

void HostPace::reloaded() {
  former_.merge(known_);
  known_.clear();
}

// A host that got its settings again has another delay, which robots.txt may have lengthened: it is
// left as it is.
Result<void> HostPace::shorten_delays(Frontier& frontier, const HostPoliteness& before,
                                      const HostPoliteness& now) {
  const auto settings_now = [&now](std::string_view host) {
    const HostPolitenessText* const entry = now.find(host);
    return entry == nullptr ? kNothing : settings_of(*entry, milliseconds(0), milliseconds(0));
  };
  const auto is_shorter = [&](const HostPolitenessText& entry) {
    const std::string_view host = entry.host;
    return entry.delay &&
           settings_now(host.substr(host.starts_with('.') ? 1 : 0)).delay < entry.delay;
  };
  if (std::ranges::none_of(before.entries(), is_shorter)) return {};
  return visit_hosts(frontier, [&](const HostInfo& info) -> Result<void> {
    const HostPolitenessText* const entry = before.find(info.host);
    if (entry == nullptr || !entry->delay || info.settings.delay != entry->delay) return {};
    const HostSettings settings = settings_now(info.host);
    return settings.delay < entry->delay ? frontier.set_host(info.host, settings) : Result<void>{};
  });
}

HostSettings HostPace::settings_of(const HostPolitenessText& entry, milliseconds crawl_delay,
                                   milliseconds asked) {
  const bool exact = entry.own && entry.delay;
  const milliseconds own = std::max(entry.delay.value_or(milliseconds(0)), asked);
  return {.delay = exact ? own : std::max(own, crawl_delay),
          .exact_delay = exact,
          .leases = entry.connections.value_or(0)};
}

Result<bool> HostPace::on_lease(std::string_view host) {
  thread_.check();
  if (hosts_.empty() && former_.empty() && fresh_.empty()) return false;
  const HostPolitenessText* const entry = hosts_.find(host);
  if (entry == nullptr && former_.empty() && fresh_.empty()) return false;
  const std::uint64_t hash = hash_(host).low;
  if (fresh_.contains(hash)) return true;
  const bool was_former = former_.erase(hash) > 0;
  if (entry == nullptr) {
    if (!was_former) return false;
    if (auto set = frontier_.set_host(host, kNothing); !set) return tl::unexpected(set.error());
    fresh_.insert(hash);
    return true;
  }
  if (known_.size() >= kMaxHosts) known_.clear();
  if (!known_.insert(hash).second) return false;
  if (auto set = frontier_.set_host(host, settings_of(*entry, milliseconds(0), milliseconds(0)));
      !set)
    return tl::unexpected(set.error());
  fresh_.insert(hash);
  return true;
}

Result<void> HostPace::set_crawl_delay(std::string_view host, milliseconds crawl_delay,
                                       milliseconds asked) {
  const HostPolitenessText* const entry = hosts_.find(host);
  if (entry != nullptr) return frontier_.set_host(host, settings_of(*entry, crawl_delay, asked));
  const milliseconds delay = std::max(crawl_delay, asked);
  return frontier_.set_host(host, {.delay = delay});
}

}  // namespace trawl
