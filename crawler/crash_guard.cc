#include "crawler/crash_guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "filter/file_io.h"

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

bool has(const std::vector<InFlightUrl>& urls, const InFlightUrl& url) {
  return std::find(urls.begin(), urls.end(), url) != urls.end();
}

Result<CrashHistory> read_history(const std::filesystem::path& path) {
  const auto contents = read_file(path.string(), kMaxHistory);
  if (!contents) {
    if (contents.error().code == ErrorCode::kNotFound) return CrashHistory();
    return tl::unexpected(contents.error());
  }
  auto history = CrashHistory::decode(*contents);
  if (history) return history;
  return fail(history.error().code, path.string() + ": " + history.error().message);
}

// What is known of crashes is worth a warning, not an end.
template <class T>
Result<T> or_warning(Result<T> read, T otherwise, std::vector<std::string>& warnings) {
  if (read || read.error().code != ErrorCode::kCorrupt) return read;
  warnings.push_back(read.error().message + "; it is begun anew, without former crashes");
  return otherwise;
}

}  // namespace

std::vector<std::filesystem::path> CrashGuard::paths(const std::filesystem::path& state_dir) {
  return {file_path(state_dir), history_path(state_dir)};
}

Result<std::unique_ptr<CrashGuard>> CrashGuard::open(const std::filesystem::path& state_dir,
                                                     std::uint32_t transfers) {
  std::vector<std::string> warnings;
  auto history = or_warning(read_history(history_path(state_dir)), CrashHistory(), warnings);
  if (!history) return tl::unexpected(history.error());
  const auto run = or_warning(InFlightFile::read(file_path(state_dir)),
                              std::optional<InFlightRecord>(), warnings);
  if (!run) return tl::unexpected(run.error());
  // Kept before the file is replaced; a run that is taken in twice counts once.
  if (*run && history->add(**run)) {
    for (std::string& warning : warnings_of(**run, *history))
      warnings.push_back(std::move(warning));
    if (auto saved = replace_file(history_path(state_dir).string(), history->encode()); !saved)
      return tl::unexpected(saved.error());
  }
  auto file = InFlightFile::create(file_path(state_dir), transfers);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<CrashGuard>(
      new CrashGuard(state_dir, std::move(*history), std::move(warnings), std::move(*file)));
}

CrashGuard::CrashGuard(std::filesystem::path state_dir, CrashHistory history,
                       std::vector<std::string> warnings, std::unique_ptr<InFlightFile> file)
    : history_path_(history_path(state_dir)),
      warnings_(std::move(warnings)),
      file_(std::move(file)),
      mark_(file_->signal()),
      history_(std::move(history)),
      any_(!history_.suspects().empty() || !history_.crashed().empty()) {}

std::vector<std::string> CrashGuard::warnings_of(const InFlightRecord& run,
                                                 const CrashHistory& history) {
  std::vector<std::string> warnings;
  warnings.push_back(fmt::format("the last run crashed ({}) with {} URLs in flight",
                                 signal_name(run.signal), run.urls.size() + run.unlisted));
  for (const InFlightUrl& url : history.crashed()) {
    warnings.push_back(fmt::format(
        "{}: was alone in flight at a third crash: it is set aside as failed", url.text));
  }
  const std::size_t suspects = history.suspects().size();
  if (suspects > 0) {
    warnings.push_back(fmt::format(
        "{} URL{} in flight at two crashes in a row, the first of them {}: fetched last, one at "
        "a time",
        suspects, suspects == 1 ? " was" : "s were", history.suspects().front().text));
  }
  return warnings;
}

CrashGuard::Ticket CrashGuard::begin(std::string_view url) {
  const InFlightFile::Slot slot = file_->begin(url);
  if (any_) {
    const std::lock_guard lock(mutex_);
    const InFlightUrl begun = InFlightUrl::of(url);
    if (has(history_.suspects(), begun) && !has(fetched_, begun)) fetched_.push_back(begun);
  }
  // A slot's ticket may outlive the guard, when an output that failed is dropped.
  struct Begun {
    std::shared_ptr<InFlightFile> file;
    InFlightFile::Slot slot;
    Begun(std::shared_ptr<InFlightFile> in, InFlightFile::Slot at)
        : file(std::move(in)), slot(at) {}
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;
    ~Begun() { file->end(slot); }
  };
  return std::make_shared<const Begun>(file_, slot);
}

CrashVerdict CrashGuard::verdict(std::string_view url, bool others) const {
  if (!any_) return CrashVerdict::kFetch;
  const std::lock_guard lock(mutex_);
  return history_.verdict(InFlightUrl::of(url), others);
}

Result<void> CrashGuard::set_aside(std::string_view url) {
  const std::lock_guard lock(mutex_);
  history_.forget(InFlightUrl::of(url));
  set_aside_.emplace_back(url);
  return save();
}

Result<void> CrashGuard::save() const {
  return replace_file(history_path_.string(), history_.encode());
}

std::vector<std::string> CrashGuard::suspects() const {
  const std::lock_guard lock(mutex_);
  return texts_of(history_.suspects());
}

std::vector<std::string> CrashGuard::crashed() const {
  const std::lock_guard lock(mutex_);
  return texts_of(history_.crashed());
}

std::vector<std::string> CrashGuard::were_set_aside() const {
  const std::lock_guard lock(mutex_);
  return set_aside_;
}

Result<void> CrashGuard::close() {
  file_->clear();
  const std::lock_guard lock(mutex_);
  return history_.end_in_order(fetched_) ? save() : Result<void>{};
}

}  // namespace trawl
