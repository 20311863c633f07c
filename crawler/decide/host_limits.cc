// Two limits per host. HostUrlQuota counts URLs queued in a run. Several threads may offer links
// to a host at the same time, so a link takes a place before it is offered, and gives it back if
// the frontier answers that the URL was seen. Concurrent offers of the same URL share a place.
//
// HostPageQuota keeps a number of pages per host, as a durable limit in the frontier. When the
// configured limit changes between runs, the limit of every host must change; that is written as a
// plan to a small file first, with the new absolute numbers, so that an interrupted change can be
// repeated by the next run.
#include "crawler/decide/host_limits.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/file_io.h"
#include "crawler/decide/url_verdict.h"

namespace trawl {

namespace {

using Limit = std::optional<std::uint64_t>;

// Calls a function for all hosts of the frontier.
Result<void> for_each_host(const Frontier& frontier,
                           const std::function<void(const HostInfo&)>& take) {
  constexpr std::size_t kAtOnce = 10'000;
  std::string after;
  for (;;) {
    const auto hosts = frontier.hosts(after, kAtOnce);
    if (!hosts) return tl::unexpected(hosts.error());
    if (hosts->empty()) return {};
    std::ranges::for_each(*hosts, take);
    after = hosts->back().host;
  }
}

// The contents of the file of page limits. Its text is "limit 20" or "limit none", with the limits
// of single hosts as LimitByHost writes them; while the limit
// is being changed, followed by "to 40", a line "7 www.example.com" for each host, and "end".
struct LimitFile {
  struct Host {
    std::string name;
    Limit remaining;
  };
  LimitByHost limit;
  std::optional<LimitByHost> to;  // absent: no change in progress
  std::vector<Host> hosts;
};

std::string to_text(Limit limit) {
  return limit ? std::to_string(*limit) : "none";
}

std::optional<Limit> limit_of(std::string_view text) {
  if (text == "none") return Limit();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Limit(number);
}

std::string to_text(const LimitFile& file) {
  std::string text = fmt::format("limit {}\n", file.limit.to_text());
  if (!file.to) return text;
  text += fmt::format("to {}\n", file.to->to_text());
  for (const LimitFile::Host& host : file.hosts)
    text += fmt::format("{} {}\n", to_text(host.remaining), host.name);
  return text + "end\n";
}

// Returns nothing if the text is damaged.
std::optional<LimitFile> limit_file_of(std::string_view text) {
  LimitFile file{.limit = std::nullopt, .to = {}, .hosts = {}};
  // The first word of the next line, and the rest of the line.
  const auto next = [&text]() -> std::pair<std::string_view, std::string_view> {
    const std::size_t length = text.find('\n');
    if (length == std::string_view::npos) return {};
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length + 1);
    const std::size_t space = std::min(line.find(' '), line.size());
    return {line.substr(0, space), line.substr(std::min(space + 1, line.size()))};
  };
  const auto [first, limit] = next();
  const auto in_force = LimitByHost::parse(limit);
  if (first != "limit" || !in_force) return std::nullopt;
  file.limit = *in_force;
  if (text.empty()) return file;
  const auto [second, to] = next();
  file.to = LimitByHost::parse(to);
  if (second != "to" || !file.to) return std::nullopt;
  for (;;) {
    const auto [word, host] = next();
    if (word == "end" && host.empty() && text.empty()) return file;
    const auto remaining = limit_of(word);
    if (!remaining || host.empty()) return std::nullopt;
    file.hosts.push_back({std::string(host), *remaining});
  }
}

Result<std::optional<LimitFile>> read_limit_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return std::optional<LimitFile>();
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto file = limit_file_of(text);
  if (!file || stream.bad()) {
    return error(ErrorCode::kCorrupt,
                 path + " is damaged: delete the file, and hosts keep their current limits");
  }
  return file;
}

// What remains of the limit `now` for a host that had `remaining` pages left of the limit `before`.
Limit left_of(Limit now, std::uint64_t before, std::uint64_t remaining) {
  if (!now) return std::nullopt;
  const std::uint64_t fetched = before - std::min(before, remaining);
  return *now - std::min(*now, fetched);
}

// Carries out the plan in the file. The numbers are absolute, so this may be repeated.
Result<void> finish_change(Frontier& frontier, LimitFile& file, const std::string& path) {
  for (const LimitFile::Host& host : file.hosts) {
    if (auto set = frontier.set_host(host.name,
                                     {.limit = host.remaining.value_or(HostSettings::kNoLimit)});
        !set)
      return set;
  }
  file = {.limit = *file.to, .to = std::nullopt, .hosts = {}};
  return replace_file(path, to_text(file));
}

// A forwarded URL is not: the owner of its host decides, and counts it.
bool is_known(std::optional<Admission> admission) {
  return admission == Admission::kNew || admission == Admission::kSeen;
}

}  // namespace

bool RecentHashes::find(std::uint64_t hash) {
  const auto bucket = bucket_of(hash);
  const auto found = std::ranges::find(bucket, hash);
  if (found == bucket.end() || hash == 0) return false;
  std::rotate(bucket.begin(), found, found + 1);
  return true;
}

bool RecentHashes::contains(std::uint64_t hash) {
  const MutexLock lock(lock_of(hash));
  return find(hash);
}

void RecentHashes::insert(std::uint64_t hash) {
  const MutexLock lock(lock_of(hash));
  if (find(hash)) return;
  const auto bucket = bucket_of(hash);
  std::copy_backward(bucket.begin(), bucket.end() - 1, bucket.end());
  bucket.front() = hash;
}

HostUrlQuota::HostUrlQuota(LimitByHost limits, std::shared_ptr<BodyMemoryBudget> budget,
                           std::uint64_t most_bytes)
    : limits_(std::move(limits)),
      limited_(limits_.any()),
      hash_(KeyedHash::random()),
      held_(std::move(budget)) {
  for (std::size_t i = 0; i < kParts; ++i)
    parts_.emplace_back(most_bytes / kParts, held_);
  if (!limited_) return;
  known_.emplace();
  held_.take(RecentHashes::kBytes);
}

Result<void> HostUrlQuota::start(const Frontier& frontier) {
  if (!limited_) return {};
  return for_each_host(frontier, [this](const HostInfo& host) { came(host.host, host.queued); });
}

// What was counted when the host was here before is among what waits, or was; so the larger number
// holds. Places of links that are under way are in the count, but not among what waits.
void HostUrlQuota::came(std::string_view host, std::uint64_t admitted) {
  if (!limited_ || !limits_.of(host)) return;
  const std::uint64_t hash = hash_of(host);
  Part& part = part_of(hash);
  const MutexLock lock(part.mutex);
  const auto under_way = static_cast<std::uint64_t>(std::ranges::count_if(
      part.pending, [hash](const auto& pending) { return pending.second.host == hash; }));
  const std::uint64_t now = part.counts.of(hash);
  part.counts.set(hash, std::max(now, admitted + under_way));
}

HoldReason HostUrlQuota::reason() const {
  return {.reason = to_string(SkipReason::kTooManyUrlsOfHost)};
}

std::optional<HostUrlQuota::Place> HostUrlQuota::take(std::string_view host, std::string_view url) {
  Place place;
  if (!limited_) return place;
  const Limit limit = limits_.of(host);
  if (!limit) return place;
  place.host = hash_of(host);
  place.url = hash_of(url);
  Part& part = part_of(place.host);
  const MutexLock lock(part.mutex);
  if (known_->contains(place.url)) return place;
  place.taken = true;
  if (const auto pending = part.pending.find(place.url); pending != part.pending.end()) {
    ++pending->second.offers;
    return place;
  }
  if (part.counts.of(place.host) >= *limit) return std::nullopt;
  part.counts.increment(place.host);
  part.pending[place.url] = {.host = place.host, .offers = 1};
  return place;
}

void HostUrlQuota::report(const Place& place, std::optional<Admission> admission) {
  if (!place.taken) return;
  Part& part = part_of(place.host);
  const MutexLock lock(part.mutex);
  const auto found = part.pending.find(place.url);
  assert(found != part.pending.end() && found->second.offers > 0);
  Pending& pending = found->second;
  pending.admitted = pending.admitted || admission == Admission::kNew;
  pending.known = pending.known || is_known(admission);
  if (--pending.offers > 0) return;
  if (pending.known) known_->insert(place.url);
  if (!pending.admitted) part.counts.decrement(place.host);
  part.pending.erase(found);
}

void HostUrlQuota::note(std::string_view host, std::string_view url, Admission admission) {
  if (!limited_ || !limits_.of(host)) return;
  const std::uint64_t hash = hash_of(host);
  Part& part = part_of(hash);
  const MutexLock lock(part.mutex);
  if (admission == Admission::kNew) part.counts.increment(hash);
  if (is_known(admission)) known_->insert(hash_of(url));
}

std::uint64_t HostUrlQuota::count(std::string_view host) const {
  const std::uint64_t hash = hash_of(host);
  const Part& part = part_of(hash);
  const MutexLock lock(part.mutex);
  return part.counts.of(hash);
}

HostPageQuota::HostPageQuota(Frontier& frontier, bool resumed, LimitByHost limits,
                             std::shared_ptr<BodyMemoryBudget> budget)
    : frontier_(frontier),
      resumed_(resumed),
      limits_(std::move(limits)),
      hash_(KeyedHash::random()),
      held_(std::move(budget)) {}

Result<void> HostPageQuota::begin(Frontier& frontier, bool resumed,
                                  const std::filesystem::path& state_dir, const LimitByHost& now) {
  const std::string file_path = path(state_dir).string();
  std::optional<LimitFile> file;
  if (resumed) {
    auto read = read_limit_file(file_path);
    if (!read) return tl::unexpected(std::move(read.error()));
    file = std::move(*read);
  }
  if (!file) {
    // No file: no limit. Most crawls have none, and a file takes two syncs.
    if (!now.any()) {
      std::error_code ignored;
      std::filesystem::remove(file_path, ignored);  // of a crawl whose creation was interrupted
      return {};
    }
    return replace_file(file_path, to_text(LimitFile{.limit = now, .to = {}, .hosts = {}}));
  }
  if (file->to) {
    if (auto done = finish_change(frontier, *file, file_path); !done) return done;
  }
  if (file->limit == now) return {};
  if (file->limit.any()) {
    auto listed = for_each_host(frontier, [&](const HostInfo& host) {
      const Limit before = file->limit.of(host.host);
      const Limit after = now.of(host.host);
      if (!before || !host.settings.limit || before == after) return;
      file->hosts.push_back({host.host, left_of(after, *before, *host.settings.limit)});
    });
    if (!listed) return listed;
  }
  file->to = now;
  if (auto written = replace_file(file_path, to_text(*file)); !written) return written;
  return finish_change(frontier, *file, file_path);
}

Result<void> HostPageQuota::on_lease(std::string_view host) {
  thread_.check();
  const Limit limit = limits_.of(host);
  if (!limit) return {};
  if (known_.size() >= kMaxHosts) {
    held_.give_back(known_.size() * kBytesOfAHost);
    known_.clear();
    forgot_ = true;
  }
  if (!known_.insert(hash_(host).low).second) return {};
  held_.take(kBytesOfAHost);
  // An earlier run, or this one before it forgot the host, may have set the limit. Asking the
  // frontier counts the host's queue, which a new crawl need not do.
  if (forgot_ || resumed_) {
    const auto info = frontier_.host(host);
    if (!info && info.error().code != ErrorCode::kNotFound) return tl::unexpected(info.error());
    if (info && info->settings.limit) return {};
  }
  return frontier_.set_host(host, {.limit = *limit});
}

}  // namespace trawl
