#include "crawler/decide/recrawl_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "crawler/crash/crash_loop_breaker.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxLineBytes = 1u << 20;
constexpr std::size_t kNearUrls = 1u << 17;
constexpr std::size_t kMaxMarkerBytes = 4096;

constexpr std::uint64_t kNotModified = 304;

// A line of a page that was fetched successfully, or redirected.
struct FetchedPage {
  PlannedRecrawl planned;
  SystemTime fetched_at;
  bool redirected = false;
};

std::string text_of(const nlohmann::json& line, const char* name) {
  const auto found = line.find(name);
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The validators come from a file, so they are checked before they are sent as headers.
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

// Returns false if the line is damaged. Leaves `page` empty if the page is not to be fetched again.
bool read_line(std::string_view text, std::optional<FetchedPage>& page) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return false;
  FetchedPage read;
  read.planned.url = text_of(line, "url");
  const auto status = number_of(line, "status");
  const auto depth = number_of(line, "depth");
  const auto fetched_at = parse_rfc3339(text_of(line, "fetched_at"));
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
  read.fetched_at = std::chrono::floor<std::chrono::seconds>(*fetched_at);
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
    plan.pages_ = std::make_unique<InputFile>(std::move(*file));
  }
  // A crawl without recrawls needs no marker file.
  if (*marked || policy.enabled()) {
    if (auto begun = plan.begin(size); !begun) return tl::unexpected(begun.error());
  }
  std::uint64_t begin = 0;
  for (const Range& range : {plan.marker_.pages, plan.marker_.redirects}) {
    if (!range.recrawling || range.next >= range.end) continue;
    begin = plan.end_ == 0 ? range.next : std::min(begin, range.next);
    plan.end_ = std::max(plan.end_, range.end);
  }
  if (plan.pages_) plan.lines_.emplace(*plan.pages_, kMaxLineBytes, begin, plan.end_);
  return plan;
}

void RecrawlPlan::Range::begin(bool recrawls, std::uint64_t size) {
  if (recrawls) {
    // The file is shorter than before, so it is another file.
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
  // Marker files of older versions have no redirects: none were planned.
  if ((read != 3 && read != 6) || pages.next > pages.end || pages.recrawling > 1 ||
      redirects.next > redirects.end || redirects.recrawling > 1) {
    return error(
        ErrorCode::kCorrupt,
        marker_file_ +
            " is damaged: delete the file, and all pages are scheduled to be fetched again");
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

Result<std::vector<PlannedRecrawl>> RecrawlPlan::next(std::size_t limit) {
  const OneAtATime::Use use(using_);
  std::vector<PlannedRecrawl> planned;
  while (policy_.enabled() && planned.size() < limit) {
    const auto more = lines_ ? lines_->next() : Result<bool>(false);
    if (!more) return tl::unexpected(more.error());
    // An incomplete last line is not planned.
    all_read_ = !*more || !lines_->whole();
    if (all_read_) break;
    if (lines_->too_long()) {
      ++damaged_lines_;
    } else {
      take_line(lines_->line(), lines_->offset(), planned);
    }
  }
  planned_ += planned.size();
  if (!planned.empty()) {
    uncommitted_ = true;
  } else if (limit > 0 && !uncommitted_) {
    // Lines after the last batch that need no plan.
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
  if (!read_line(line, page)) {
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
    planned.note = {};  // it was not a page
  } else {
    planned.note.interval = interval;
  }
  // A clock that was ahead when the page was fetched does not delay it.
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
  const OneAtATime::Use use(using_);
  if (!policy_.enabled()) return {};
  const std::uint64_t done = all_read_ || !lines_ ? end_ : lines_->next_offset();
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
    after = urls->back().position;
    std::vector<UrlRequest> requests;
    for (const SetAsideUrl& url : *urls) {
      if (url.state != SetAsideState::kFailed || url.reason == CrashLoopBreaker::kCrashed) continue;
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
