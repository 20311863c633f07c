#include "crawler/cli/frontier_line_loader.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/utf8.h"
#include "crawler/cli/line_reader.h"
#include "crawler/cli/numbered_line_reader.h"
#include "crawler/cli/say.h"

namespace trawl::cli {

namespace {

// A line has a URL and its parent, a few KiB each.
constexpr std::size_t kMaxLineBytes = 1 << 20;
// Lines that are offered together.
constexpr std::size_t kBatchLines = 4096;
constexpr std::size_t kBatchBytes = 4 << 20;
// Further bad lines are only counted.
constexpr std::uint64_t kMaxReports = 1000;

}  // namespace

FrontierLineLoader::FrontierLineLoader(const FrontierLoadArguments& arguments,
                                       std::uint32_t max_url_length, Offer offer)
    : name_(arguments.input == kStandardInput ? "standard input" : arguments.input),
      max_url_length_(max_url_length),
      skip_bad_lines_(arguments.skip_bad_lines),
      set_aside_(arguments.set_aside),
      seen_only_(arguments.seen),
      offer_(std::move(offer)) {}

Result<FileDescriptor> FrontierLineLoader::open_input(const std::string& input) {
  if (input == kStandardInput) return FileDescriptor();
  if (auto readable = LineReader::check_inputs({input}); !readable)
    return tl::unexpected(readable.error());
  FileDescriptor file(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return tl::unexpected(system_error(errno, "cannot read " + input));
  return file;
}

Result<void> FrontierLineLoader::load(const FileDescriptor& file) {
  NumberedLineReader lines(file.get() < 0 ? STDIN_FILENO : file.get(), name_);
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

void FrontierLineLoader::report_unshown() const {
  if (bad_ > kMaxReports) say(stderr, "trawl: {} more bad lines\n", bad_ - kMaxReports);
}

void FrontierLineLoader::take(std::uint64_t number, std::string_view text) {
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

void FrontierLineLoader::refuse(std::uint64_t number, std::string_view why) {
  if (++bad_ <= kMaxReports) say(stderr, "trawl: {}:{}: {}\n", name_, number, why);
}

bool FrontierLineLoader::full() const {
  return batch_.size() >= kBatchLines || bytes_ >= kBatchBytes;
}

Result<void> FrontierLineLoader::offer() {
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
  const auto admissions = offer_(requests);
  if (!admissions) return tl::unexpected(admissions.error());
  for (std::size_t i = 0; i < admissions->size(); ++i)
    count(batch_[i].first, (*admissions)[i]);
  batch_.clear();
  bytes_ = 0;
  return {};
}

void FrontierLineLoader::count(std::uint64_t number, Admission admission) {
  switch (admission) {
    case Admission::kNew:
    case Admission::kForwarded:
      ++fresh_;
      break;
    case Admission::kSeen:
    case Admission::kHeld:  // load never offers URLs as held
      ++seen_;
      break;
    case Admission::kInvalid:
      refuse(number, "not an http(s) URL");
      break;
    case Admission::kTooLong:
      refuse(number, fmt::format("the URL is longer than {} bytes", max_url_length_));
      break;
    case Admission::kNoteTooLong:
      refuse(number, fmt::format("its note is longer than {} bytes", kMaxNoteBytes));
      break;
  }
}

}  // namespace trawl::cli
