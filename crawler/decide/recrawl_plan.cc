#include "crawler/decide/recrawl_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crawler/crash/crash_guard.h"

namespace trawl {

namespace {

constexpr std::size_t kChunkBytes = 256u << 10;
constexpr std::size_t kMaxLineBytes = 1u << 20;
constexpr std::size_t kNearUrls = 1u << 17;
constexpr std::size_t kMaxMarkerBytes = 4096;

constexpr std::uint64_t kNotModified = 304;

// What a line says of a page that was fetched well, or redirected.
struct FetchedPage {
  PlannedRecrawl planned;
  SystemTime fetched_at;
  bool redirected = false;
};

std::optional<int> digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "2026-11-21T20:31:09.123Z", with or without the fraction.
std::optional<SystemTime> parse_time(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() <= kShape.size() || !text.ends_with('Z')) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != '0' && text[i] != kShape[i]) return std::nullopt;
  }
  const auto part = [text](std::size_t at, std::size_t size) {
    return digits(text.substr(at, size)).value_or(-1);
  };
  const year_month_day date(year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                            day(static_cast<unsigned>(part(8, 2))));
  const int hour = part(11, 2);
  const int minute = part(14, 2);
  const int second = part(17, 2);
  // Clocks of nanoseconds end in 2262.
  if (part(0, 4) < 1970 || part(0, 4) > 2200 || !date.ok() || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

std::string text_of(const nlohmann::json& line, const char* name) {
  const auto found = line.find(name);
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The validators come from a file: nothing may get from it into a request that is no header.
std::string validator_of(const nlohmann::json& line, const char* name) {
  std::string text = text_of(line, name);
  return is_usable_validator(text) ? text : std::string();
}

std::optional<std::uint64_t> number_of(const nlohmann::json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

bool went_well(const nlohmann::json& line, std::uint64_t status) {
  const bool good = (status >= 200 && status < 300) || status == kNotModified;
  return good && text_of(line, "error").empty();
}

// False if the line is damaged; nothing in `page` if it is of no page to be fetched again.
bool read_line(std::string_view text, std::optional<FetchedPage>& page) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return false;
  FetchedPage read;
  read.planned.url = text_of(line, "url");
  const auto status = number_of(line, "status");
  const auto depth = number_of(line, "depth");
  const auto fetched_at = parse_time(text_of(line, "fetched_at"));
  if (read.planned.url.empty() || !status || !fetched_at || !depth ||
      *depth > std::numeric_limits<std::uint32_t>::max()) {
    return false;
  }
  read.redirected = *status >= 300 && *status < 400 && *status != kNotModified;
  if (!read.redirected && !went_well(line, *status)) return true;
  read.planned.parent = text_of(line, "parent");
  read.planned.depth = static_cast<std::uint32_t>(*depth);
  read.planned.note.etag = validator_of(line, "etag");
  read.planned.note.last_modified = validator_of(line, "last_modified");
  read.planned.note.digest = text_of(line, "digest");
  read.fetched_at = *fetched_at;
  page = std::move(read);
  return true;
}

}  // namespace

RecrawlPlan::RecrawlPlan(const RecrawlPolicy& policy, std::string marker_file,
                         std::string pages_file)
    : policy_(policy),
      marker_file_(std::move(marker_file)),
      pages_file_(std::move(pages_file)),
      now_(std::chrono::system_clock::now()),
      hash_(KeyedHash::random()) {}

Result<RecrawlPlan> RecrawlPlan::open(const std::filesystem::path& state_dir,
                                      const std::filesystem::path& pages,
                                      const RecrawlPolicy& policy) {
  RecrawlPlan plan(policy, marker_path(state_dir).string(), pages.string());
  const auto marked = plan.read_marker();
  if (!marked) return tl::unexpected(marked.error());
  std::error_code failed;
  std::uint64_t size = 0;
  if (std::filesystem::exists(pages, failed)) {
    auto file = InputFile::open(plan.pages_file_);
    if (!file) return tl::unexpected(file.error());
    const auto length = file->size();
    if (!length) return tl::unexpected(length.error());
    size = *length;
    plan.pages_ = std::move(*file);
  }
  // A crawl that never fetched anything again needs no file that says so.
  if (*marked || policy.enabled()) {
    if (auto begun = plan.begin(size); !begun) return tl::unexpected(begun.error());
  }
  for (const Range& range : {plan.marker_.pages, plan.marker_.redirects}) {
    if (!range.recrawling || range.next >= range.end) continue;
    plan.read_to_ = plan.end_ == 0 ? range.next : std::min(plan.read_to_, range.next);
    plan.end_ = std::max(plan.end_, range.end);
  }
  return plan;
}

void RecrawlPlan::Range::begin(bool recrawls, std::uint64_t size) {
  if (recrawls) {
    // Shorter than it was: another file now, and the old one's pages are gone with it.
    if (recrawling && end > size) next = end = size;
    if (!recrawling) {
      if (next > size) next = 0;
      end = size;
    }
    next = std::min(next, end);
  } else if (recrawling && next >= end) {
    next = end = size;
  }
  recrawling = recrawls;
}

Result<void> RecrawlPlan::begin(std::uint64_t size) {
  marker_.pages.begin(policy_.recrawls_pages(), size);
  marker_.redirects.begin(policy_.failed_interval().has_value(), size);
  return write_marker();
}

Result<bool> RecrawlPlan::read_marker() {
  std::error_code failed;
  if (!std::filesystem::exists(marker_file_, failed)) return false;
  const auto text = read_file(marker_file_, kMaxMarkerBytes);
  if (!text) return tl::unexpected(text.error());
  struct {
    unsigned long long next = 0;
    unsigned long long end = 0;
    unsigned recrawling = 0;
  } pages, redirects;
  const int read = std::sscanf(text->c_str(),
                               "trawl-recrawl-plan 1 next %llu end %llu on %u "
                               "redirects_next %llu redirects_end %llu redirects_on %u",
                               &pages.next, &pages.end, &pages.recrawling, &redirects.next,
                               &redirects.end, &redirects.recrawling);
  // Earlier ones do not tell of redirects: none has been planned, then.
  if ((read != 3 && read != 6) || pages.next > pages.end || pages.recrawling > 1 ||
      redirects.next > redirects.end || redirects.recrawling > 1) {
    return fail(ErrorCode::kCorrupt,
                marker_file_ +
                    " is damaged: delete it, and all pages are planned to be fetched "
                    "again");
  }
  marker_ = {.pages = {pages.next, pages.end, pages.recrawling == 1},
             .redirects = {redirects.next, redirects.end, redirects.recrawling == 1}};
  return true;
}

Result<void> RecrawlPlan::write_marker() const {
  const Range& pages = marker_.pages;
  const Range& redirects = marker_.redirects;
  return replace_file(marker_file_,
                      fmt::format("trawl-recrawl-plan 1\nnext {}\nend {}\non {}\n"
                                  "redirects_next {}\nredirects_end {}\nredirects_on {}\n",
                                  pages.next, pages.end, pages.recrawling ? 1 : 0, redirects.next,
                                  redirects.end, redirects.recrawling ? 1 : 0));
}

// False at the end of what is to be planned.
Result<bool> RecrawlPlan::read_more() {
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  if (buffer_.size() > kMaxLineBytes) {
    if (!skipping_) ++damaged_lines_;
    skipping_ = true;
  }
  if (skipping_) buffer_.clear();
  const std::size_t old = buffer_.size();
  const std::uint64_t left = end_ - std::min(end_, read_to_);
  const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkBytes));
  if (wanted == 0 || !pages_) return false;
  buffer_.resize(old + wanted);
  const auto got = pages_->read_at(buffer_.data() + old, wanted, read_to_);
  buffer_.resize(old + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  read_to_ += *got;
  return *got > 0;
}

Result<std::vector<PlannedRecrawl>> RecrawlPlan::next(std::size_t limit) {
  std::vector<PlannedRecrawl> planned;
  while (policy_.enabled() && planned.size() < limit) {
    const std::size_t length = std::string_view(buffer_).substr(consumed_).find('\n');
    if (length == std::string_view::npos) {
      const auto more = read_more();
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
      continue;
    }
    const std::string_view line = std::string_view(buffer_).substr(consumed_, length);
    if (!skipping_) take_line(line, read_to_ - (buffer_.size() - consumed_), planned);
    skipping_ = false;
    consumed_ += length + 1;
  }
  planned_ += planned.size();
  if (!planned.empty()) {
    uncommitted_ = true;
  } else if (limit > 0 && !uncommitted_) {
    // Lines behind the last batch that are of no page to be planned.
    if (auto done = commit(); !done) return tl::unexpected(done.error());
  }
  return planned;
}

void RecrawlPlan::take_line(std::string_view line, std::uint64_t from,
                            std::vector<PlannedRecrawl>& into) {
  const std::uint64_t to = from + line.size() + 1;
  const bool takes_pages = marker_.pages.has(from, to);
  const bool takes_redirects = marker_.redirects.has(from, to);
  if (!takes_pages && !takes_redirects) return;
  std::optional<FetchedPage> page;
  if (line.size() > kMaxLineBytes || !read_line(line, page)) {
    ++damaged_lines_;
    return;
  }
  if (!page || !(page->redirected ? takes_redirects : takes_pages)) return;
  PlannedRecrawl& planned = page->planned;
  const auto interval =
      page->redirected
          ? policy_.failed_interval()
          : policy_.next_interval(planned.url, RecrawlPolicy::Change::kNew, std::nullopt);
  if (!interval || was_near(planned.url)) return;
  if (page->redirected) {
    planned.note = {};  // it was no page
  } else {
    planned.note.interval = interval;
  }
  // A clock that was ahead when the page was fetched does not put it off.
  planned.not_before = std::min(page->fetched_at, now_) + *interval;
  into.push_back(std::move(planned));
}

bool RecrawlPlan::was_near(std::string_view url) {
  if (near_.empty()) near_.resize(kNearUrls);
  const Fingerprint print = hash_(url);
  std::uint64_t& place = near_[print.high % kNearUrls];
  if (place == print.low) return true;
  place = print.low;
  return false;
}

Result<void> RecrawlPlan::commit() {
  if (!policy_.enabled()) return {};
  // Of a line that is cut by the end of the file, nothing is planned.
  const std::uint64_t unread = buffer_.size() - consumed_;
  const bool all_read = read_to_ >= end_ && buffer_.find('\n', consumed_) == std::string::npos;
  const std::uint64_t done = all_read ? end_ : read_to_ - unread;
  for (Range* range : {&marker_.pages, &marker_.redirects}) {
    if (range->recrawling) range->next = std::max(range->next, std::min(range->end, done));
  }
  uncommitted_ = false;
  return write_marker();
}

Result<std::uint64_t> plan_failed_urls(Frontier& frontier, const RecrawlPolicy& policy) {
  constexpr std::size_t kBatch = 1000;
  std::uint64_t planned = 0;
  if (!policy.failed_interval()) return planned;
  const SystemTime now = std::chrono::system_clock::now();
  std::string after;
  for (;;) {
    const auto urls = frontier.set_aside(after, kBatch);
    if (!urls) return tl::unexpected(urls.error());
    if (urls->empty()) return planned;
    after = urls->back().url;
    std::vector<UrlRequest> requests;
    for (const SetAsideUrl& url : *urls) {
      if (url.state != SetAsideState::kFailed || url.reason == CrashGuard::kCrashed) continue;
      requests.push_back({.url = url.url,
                          .priority = url.priority,
                          .depth = url.depth,
                          .redirects = url.redirects,
                          .parent = url.parent,
                          .not_before = std::min(url.since, now) + *policy.failed_interval(),
                          .note = url.note,
                          .again = true});
    }
    if (requests.empty()) continue;
    planned += requests.size();
    if (auto offered = frontier.offer(requests); !offered) return tl::unexpected(offered.error());
  }
}

}  // namespace trawl
