// trawl frontier load
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "trawl/embedded_frontier.h"

#include "base/file_io.h"
#include "base/utf8.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_line.h"
#include "crawler/cli/frontier_settings.h"
#include "crawler/cli/line_reader.h"
#include "crawler/cli/numbered_line_reader.h"
#include "crawler/cli/say.h"
#include "crawler/state/state_contents.h"

namespace trawl::cli {

namespace {

// A line has a URL and its parent, a few KiB each.
constexpr std::size_t kMaxLineBytes = 1 << 20;
// Lines per call of offer().
constexpr std::size_t kBatchLines = 4096;
constexpr std::size_t kBatchBytes = 4 << 20;
// Further bad lines are only counted.
constexpr std::uint64_t kMaxReports = 1000;

class Loader {
 public:
  Loader(Frontier& frontier, std::string name, std::uint32_t max_url_length,
         const FrontierLoadArguments& arguments)
      : frontier_(frontier),
        name_(std::move(name)),
        max_url_length_(max_url_length),
        skip_bad_lines_(arguments.skip_bad_lines),
        set_aside_(arguments.set_aside),
        seen_only_(arguments.seen) {}

  Result<void> load(int fd) {
    NumberedLineReader lines(fd, name_);
    NumberedLineReader::Line line;
    while (true) {
      // Lines already read are offered before waiting for more.
      if (full() || lines.may_wait()) {
        if (auto offered = offer(); !offered) return offered;
      }
      const auto more = lines.next(line);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return offer();
      if (line.number == 1 && line.text.starts_with(kByteOrderMark))
        line.text.remove_prefix(kByteOrderMark.size());
      if (line.too_long || line.text.size() > kMaxLineBytes) {
        refuse(line.number, fmt::format("longer than {} MiB", kMaxLineBytes >> 20));
      } else if (!line.text.empty()) {
        take(line.number, line.text);
      }
    }
  }

  std::uint64_t fresh() const { return fresh_; }
  std::uint64_t seen() const { return seen_; }
  std::uint64_t bad() const { return bad_; }
  std::uint64_t passed_over() const { return passed_over_; }
  void report_unshown() const {
    if (bad_ > kMaxReports) say(stderr, "trawl: {} more bad lines\n", bad_ - kMaxReports);
  }

 private:
  void take(std::uint64_t number, std::string_view text) {
    auto line = parse_frontier_line(text);
    if (!line) return refuse(number, line.error());
    if (line->url.size() > max_url_length_) {
      return refuse(number, fmt::format("the URL is longer than {} bytes", max_url_length_));
    }
    // Loading stops at the first bad line; later lines are only checked.
    if (bad_ > 0 && !skip_bad_lines_) return;
    if (line->set_aside && !set_aside_) {
      ++passed_over_;
      return;
    }
    bytes_ += line->url.size() + line->parent.size() + line->note.size();
    batch_.push_back({number, std::move(*line)});
  }

  void refuse(std::uint64_t number, std::string_view why) {
    if (++bad_ <= kMaxReports) say(stderr, "trawl: {}:{}: {}\n", name_, number, why);
  }

  bool full() const { return batch_.size() >= kBatchLines || bytes_ >= kBatchBytes; }

  Result<void> offer() {
    if (batch_.empty()) return {};
    std::vector<UrlRequest> requests;
    requests.reserve(batch_.size());
    for (const auto& [number, line] : batch_) {
      requests.push_back({.url = line.url,
                          .priority = line.priority,
                          .depth = line.depth,
                          .redirects = line.redirects,
                          .parent = line.parent,
                          .not_before = line.not_before,
                          .note = line.note,
                          .seen_only = seen_only_});
    }
    // The next lines are read while these become durable; closing waits for all.
    const auto admissions = frontier_.offer(requests, OfferWait::kAnswer);
    if (!admissions) return tl::unexpected(admissions.error());
    for (std::size_t i = 0; i < admissions->size(); ++i) {
      switch ((*admissions)[i]) {
        case Admission::kNew:
        case Admission::kForwarded:
          ++fresh_;
          break;
        case Admission::kSeen:
        case Admission::kHeld:  // load never offers URLs as held
          ++seen_;
          break;
        case Admission::kInvalid:
          refuse(batch_[i].first, "not an http(s) URL");
          break;
        case Admission::kTooLong:
          refuse(batch_[i].first, fmt::format("the URL is longer than {} bytes", max_url_length_));
          break;
        case Admission::kNoteTooLong:
          refuse(batch_[i].first, fmt::format("its note is longer than {} bytes", kMaxNoteBytes));
          break;
      }
    }
    batch_.clear();
    bytes_ = 0;
    return {};
  }

  Frontier& frontier_;
  const std::string name_;
  const std::uint32_t max_url_length_;
  const bool skip_bad_lines_;
  const bool set_aside_;
  const bool seen_only_;
  std::vector<std::pair<std::uint64_t, FrontierLine>> batch_;  // with line numbers
  std::size_t bytes_ = 0;
  std::uint64_t fresh_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t bad_ = 0;
  std::uint64_t passed_over_ = 0;  // held or failed
};

void override_settings(const FrontierLoadArguments& arguments, EmbeddedOptions& options) {
  options.mode = arguments.append ? OpenMode::kResume : OpenMode::kCreate;
  if (arguments.expected_urls) options.seen.expected_urls = *arguments.expected_urls;
  if (arguments.false_positive_rate)
    options.seen.false_positive_rate = *arguments.false_positive_rate;
  if (arguments.exact) options.seen.mode = FilterMode::kExact;
  options.seen.ledger = options.seen.ledger || arguments.ledger;
}

int report_opening(const Error& error, const FrontierLoadArguments& arguments) {
  const int code = report(error);
  if (error.code == ErrorCode::kAlreadyExists) say(stderr, "trawl: to add to it, give --append\n");
  if (error.code == ErrorCode::kNotFound && arguments.append)
    say(stderr, "trawl: to create a new frontier, leave out --append\n");
  return code;
}

Result<FileDescriptor> open_input(const std::string& input) {
  if (input == kStandardInput) return FileDescriptor();
  if (auto readable = LineReader::check_inputs({input}); !readable)
    return tl::unexpected(readable.error());
  FileDescriptor file(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return tl::unexpected(system_error(errno, "cannot read " + input));
  return file;
}

}  // namespace

int run_frontier_load(const FrontierLoadArguments& arguments) {
  auto options = frontier_settings(arguments.state_dir, arguments.config);
  if (!options) return options.error();
  override_settings(arguments, *options);
  // Opened before anything is created.
  const auto file = open_input(arguments.input);
  if (!file) return report(file.error());
  CrawlConfig place;
  place.crawl.state_dir = options->directory;
  if (const auto usable = inspect_state(place); !usable) return report(usable.error());
  const bool standard = arguments.input == kStandardInput;
  OpenReport opened;
  const auto frontier = EmbeddedFrontier::open(*options, &opened);
  if (!frontier) return report_opening(frontier.error(), arguments);
  for (const std::string& warning : opened.warnings)
    say(stderr, "trawl: warning: {}\n", warning);

  Loader loader(**frontier, standard ? "standard input" : arguments.input,
                options->limits.max_url_length, arguments);
  const auto loaded = loader.load(standard ? STDIN_FILENO : file->get());
  const auto closed = (*frontier)->close();
  loader.report_unshown();
  say("{}: {} {}, {} seen{}, {} invalid\n", arguments.state_dir, loader.fresh(),
      arguments.seen ? "marked as seen" : "new", loader.seen(), arguments.seen ? " before" : "",
      loader.bad());
  if (loader.passed_over() > 0) {
    say("{} held or failed URLs were not loaded; --set-aside {} them too\n", loader.passed_over(),
        arguments.seen ? "marks" : "queues");
  }
  if (!loaded) return report(loaded.error());
  if (!closed) return report(closed.error());
  if (loader.bad() == 0 || arguments.skip_bad_lines) return kDone;
  say(stderr,
      "trawl: nothing after the first bad line was loaded; correct the file or give "
      "--skip-bad-lines, and load it again with --append: URLs already loaded are counted as "
      "seen\n");
  return kFailed;
}

}  // namespace trawl::cli
