#include "crawler/crash/crash_loop_breaker.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxHistory = 64u << 20;

std::filesystem::path file_path(const std::filesystem::path& state_dir) {
  return state_dir / "in-flight";
}

std::filesystem::path history_path(const std::filesystem::path& state_dir) {
  return state_dir / "crashes";
}

std::vector<std::string> texts_of(const std::vector<InFlightUrl>& urls) {
  std::vector<std::string> texts;
  for (const InFlightUrl& url : urls)
    texts.push_back(url.text);
  return texts;
}

Result<CrashHistory> read_history(const std::filesystem::path& path) {
  const auto contents = read_file(path.string(), kMaxHistory);
  if (!contents) {
    if (contents.error().code == ErrorCode::kNotFound) return CrashHistory();
    return tl::unexpected(contents.error());
  }
  auto history = CrashHistory::decode(*contents);
  if (history) return history;
  return error(history.error().code, path.string() + ": " + history.error().message);
}

// A damaged crash record gives a warning, and does not stop the crawl.
template <class T>
Result<T> or_warning(Result<T> read, T otherwise, std::vector<std::string>& warnings) {
  if (read || read.error().code != ErrorCode::kCorrupt) return read;
  warnings.push_back(read.error().message + "; starting with an empty record of crashes");
  return otherwise;
}

}  // namespace

std::vector<std::filesystem::path> CrashLoopBreaker::paths(const std::filesystem::path& state_dir) {
  return {file_path(state_dir), history_path(state_dir)};
}

Result<std::unique_ptr<CrashLoopBreaker>> CrashLoopBreaker::open(
    const std::filesystem::path& state_dir, std::uint32_t transfers) {
  std::vector<std::string> warnings;
  auto history = or_warning(read_history(history_path(state_dir)), CrashHistory(), warnings);
  if (!history) return tl::unexpected(history.error());
  const auto run = or_warning(InFlightFile::read(file_path(state_dir)),
                              std::optional<InFlightRecord>(), warnings);
  if (!run) return tl::unexpected(run.error());
  // Saved before the in-flight file is replaced; a run that is added twice counts once.
  if (*run && history->add(**run)) {
    for (std::string& warning : warnings_of(**run, *history))
      warnings.push_back(std::move(warning));
    if (auto saved = replace_file(history_path(state_dir).string(), history->encode()); !saved)
      return tl::unexpected(saved.error());
  }
  auto file = InFlightFile::create(file_path(state_dir), transfers);
  if (!file) return tl::unexpected(file.error());
  auto flight = std::make_shared<Flight>();
  flight->file = std::move(*file);
  flight->any = !history->suspects().empty() || !history->crashed().empty();
  return std::unique_ptr<CrashLoopBreaker>(
      new CrashLoopBreaker(state_dir, std::move(*history), std::move(warnings), std::move(flight)));
}

CrashLoopBreaker::CrashLoopBreaker(const std::filesystem::path& state_dir, CrashHistory history,
                                   std::vector<std::string> warnings,
                                   std::shared_ptr<Flight> flight)
    : history_path_(history_path(state_dir)),
      warnings_(std::move(warnings)),
      flight_(std::move(flight)),
      mark_(flight_->file->signal()),
      history_(std::move(history)) {}

std::vector<std::string> CrashLoopBreaker::warnings_of(const InFlightRecord& run,
                                                       const CrashHistory& history) {
  std::vector<std::string> warnings;
  const std::size_t in_flight = run.urls.size() + run.unlisted;
  warnings.push_back(fmt::format("the last run crashed ({}) with {} URL{} in flight",
                                 signal_name(run.signal), in_flight, in_flight == 1 ? "" : "s"));
  for (const InFlightUrl& url : history.crashed()) {
    warnings.push_back(fmt::format(
        "{}: set aside, since it was the only URL in flight at a third crash", url.text));
  }
  const std::size_t suspects = history.suspects().size();
  if (suspects > 0) {
    warnings.push_back(
        fmt::format("{} URL{} in flight at two crashes in a row, among them {}: fetching such URLs "
                    "last, one at a time",
                    suspects, suspects == 1 ? " was" : "s were", history.suspects().front().text));
  }
  return warnings;
}

void CrashLoopBreaker::Flight::end_alone(InFlightUrl suspect) {
  const MutexLock lock(mutex);
  set_alone(false);
  if (!has(survived, suspect)) survived.push_back(std::move(suspect));
}

struct CrashLoopBreaker::Begun {
  Begun(std::shared_ptr<Flight> in, InFlightFile::Slot at) : flight(std::move(in)), slot(at) {
    flight->tickets.fetch_add(1, std::memory_order_relaxed);
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    flight->file->end(slot);
    [[maybe_unused]] const std::uint64_t before =
        flight->tickets.fetch_sub(1, std::memory_order_relaxed);
    assert(before > 0);
    if (suspect) flight->end_alone(std::move(*suspect));
  }

  const std::shared_ptr<Flight> flight;
  const InFlightFile::Slot slot;
  std::optional<InFlightUrl> suspect;  // the URL, if it is a suspect
};

CrashLoopBreaker::Ticket CrashLoopBreaker::begin(std::string_view url) {
  auto begun = std::make_shared<Begun>(flight_, flight_->file->begin(url));
  if (!flight_->any) return begun;
  InFlightUrl suspect = InFlightUrl::of(url);
  const MutexLock lock(flight_->mutex);
  if (history_.suspects(suspect)) begun->suspect = std::move(suspect);
  return begun;
}

bool CrashLoopBreaker::is_suspect(std::string_view asked) const {
  const InFlightUrl url = InFlightUrl::of(asked);
  return history_.suspects(url) && !has(flight_->survived, url);
}

CrashVerdict CrashLoopBreaker::verdict(std::string_view asked, std::string_view leased,
                                       const std::atomic<std::uint64_t>& leases) {
  if (!flight_->any) return CrashVerdict::kFetch;
  const MutexLock lock(flight_->mutex);
  if (history_.is_cause(InFlightUrl::of(asked))) return CrashVerdict::kSetAside;
  if (flight_->alone.load(std::memory_order_relaxed))
    return leased == alone_ ? CrashVerdict::kFetch : CrashVerdict::kWait;
  if (!is_suspect(asked)) return CrashVerdict::kFetch;
  // A thread that leases at the same moment counts its lease first, and then has to pass here.
  // relaxed: the mutex orders this load after the count of each lease that passed here before.
  if (leased != alone_ || leases.load(std::memory_order_relaxed) > 1) return CrashVerdict::kPutOff;
  flight_->set_alone(true);
  return CrashVerdict::kFetch;
}

Result<void> CrashLoopBreaker::set_aside(std::string_view asked) {
  const MutexLock lock(flight_->mutex);
  set_aside_.emplace_back(asked);
  history_.forget(InFlightUrl::of(asked));
  return save();
}

bool CrashLoopBreaker::leave_alone(std::string_view asked) {
  const MutexLock lock(flight_->mutex);
  if (std::find(set_aside_.begin(), set_aside_.end(), asked) != set_aside_.end()) return false;
  set_aside_.emplace_back(asked);
  left_alone_.push_back(InFlightUrl::of(asked));
  return true;
}

void CrashLoopBreaker::put_off(std::string leased, std::string asked) {
  const MutexLock lock(flight_->mutex);
  put_off_.push_back({.leased = std::move(leased), .asked = std::move(asked)});
}

bool CrashLoopBreaker::has_put_off() const {
  if (!flight_->any) return false;
  const MutexLock lock(flight_->mutex);
  return !put_off_.empty();
}

CrashLoopBreaker::Next CrashLoopBreaker::next_put_off() {
  Next next;
  if (!flight_->any) return next;
  const MutexLock lock(flight_->mutex);
  alone_.clear();
  // URLs that waited for a robots.txt that proved harmless need not be fetched alone.
  std::erase_if(put_off_, [&](PutOff& waiting) {
    flight_->mutex.assert_held();
    if (is_suspect(waiting.asked)) return false;
    next.leased.push_back(std::move(waiting.leased));
    return true;
  });
  if (!next.leased.empty() || put_off_.empty()) return next;
  alone_ = std::move(put_off_.front().leased);
  put_off_.pop_front();
  next.leased.push_back(alone_);
  next.alone = true;
  return next;
}

Result<void> CrashLoopBreaker::save() const {
  return replace_file(history_path_.string(), history_.encode());
}

std::vector<std::string> CrashLoopBreaker::suspects() const {
  const MutexLock lock(flight_->mutex);
  return texts_of(history_.suspects());
}

std::vector<std::string> CrashLoopBreaker::crashed() const {
  const MutexLock lock(flight_->mutex);
  return texts_of(history_.crashed());
}

std::vector<std::string> CrashLoopBreaker::were_set_aside() const {
  const MutexLock lock(flight_->mutex);
  return set_aside_;
}

Result<void> CrashLoopBreaker::close() {
  flight_->file->clear();
  const MutexLock lock(flight_->mutex);
  for (const InFlightUrl& url : left_alone_)
    history_.forget(url);
  const bool changed = history_.end_in_order(flight_->survived);
  return changed || !left_alone_.empty() ? save() : Result<void>{};
}

}  // namespace trawl
