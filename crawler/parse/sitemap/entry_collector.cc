#include "crawler/parse/sitemap/entry_collector.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/url_space.h"
#include "crawler/parse/sitemap/sitemap_dates.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxWarnings = 16;
constexpr std::size_t kMaxDateText = 256;
constexpr std::size_t kMaxDroppedText = 2048;
constexpr std::size_t kMaxUrlLength = 1u << 20;
constexpr std::uint64_t kMaxBytes = UINT64_MAX / 2;
// Each short reference may grow by the length of the base.
constexpr std::size_t kMaxBase = 8192;
// Overhead of a string on the heap.
constexpr std::size_t kHeapBytes = 32;
// The vector of entries may be half empty, and is copied when it grows.
constexpr std::size_t kEntryBytes = 3 * sizeof(SitemapEntry) + 2 * kHeapBytes;
constexpr std::size_t kAlternateBytes = sizeof(SitemapAlternate) + 2 * kHeapBytes;

std::optional<ChangeFrequency> parse_frequency(std::string_view text) {
  using enum ChangeFrequency;
  for (const ChangeFrequency frequency :
       {kAlways, kHourly, kDaily, kWeekly, kMonthly, kYearly, kNever}) {
    if (equal_in_any_case(text, to_string(frequency))) return frequency;
  }
  return std::nullopt;
}

std::optional<double> parse_priority(std::string_view text) {
  std::string number(text);
  std::replace(number.begin(), number.end(), ',', '.');
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                            std::chars_format::fixed);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  if (!(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

// Whether the reference takes only the scheme from its base.
bool has_authority(std::string_view text) {
  return text.starts_with("//") || starts_with_in_any_case(text, "http://") ||
         starts_with_in_any_case(text, "https://");
}

}  // namespace

void RawEntry::clear() {
  url.clear();
  url_cut = false;
  date.clear();
  change_frequency.clear();
  priority.clear();
  alternates.clear();
}

EntryCollector::EntryCollector(const Url& base, const SitemapOptions& options,
                               SitemapReader::OnDropped on_dropped)
    : options_(options),
      on_dropped_(std::move(on_dropped)),
      long_base_(base.href().size() > kMaxBase) {
  if (!long_base_) base_ = base;
  options_.max_url_length = std::min(options_.max_url_length, kMaxUrlLength);
  options_.max_bytes = std::min(options_.max_bytes, kMaxBytes);
}

void EntryCollector::warn(std::string text) {
  if (info_.warnings.size() < kMaxWarnings) info_.warnings.push_back(std::move(text));
}

void EntryCollector::warn_incomplete(std::string text) {
  info_.complete = false;
  warn(std::move(text));
}

bool EntryCollector::stop(std::string why) {
  full_ = true;
  warn_incomplete(std::move(why) + ": the rest is not read");
  return false;
}

void EntryCollector::warn_of_long_base() {
  if (long_base_told_) return;
  long_base_told_ = true;
  warn("a base of more than " + std::to_string(kMaxBase) +
       " bytes: URLs relative to it are dropped");
}

Result<Url> EntryCollector::resolve(std::string_view text, const Url* base) {
  auto url = resolve(text, base, options_.max_url_length);
  if (!url && base == &base_ && long_base_ && !has_authority(text)) warn_of_long_base();
  return url;
}

Result<Url> EntryCollector::resolve(std::string_view text, const Url* base,
                                    std::size_t max_length) {
  if (text.size() > max_length || spent()) return error(ErrorCode::kInvalidArgument, "too long");
  auto url = Url::parse(text, base);
  // Counted even if the URL is dropped, since resolving takes time: "../" with a long base is a
  // short URL.
  const std::size_t size = url ? url->href().size() : 0;
  const std::size_t of_base = base == nullptr || has_authority(text) ? 0 : base->href().size();
  result_bytes_ += std::max(size, text.size() + of_base);
  if (size > max_length) return error(ErrorCode::kInvalidArgument, "too long");
  // Copied to free spare capacity: a URL much longer than its text was reallocated by the parser.
  if (size > text.size() + 64) return Url(std::as_const(*url));
  return url;
}

std::optional<Url> EntryCollector::resolve_base(std::string_view text, const Url* base) {
  auto url = resolve(text, base, kMaxBase);
  if (url) return *std::move(url);
  if (url.error().code != ErrorCode::kInvalidArgument) return std::nullopt;
  if (!spent()) warn_of_long_base();
  return Url();
}

bool EntryCollector::add(RawEntry& raw, const Url* base) {
  if (seen_ >= options_.max_entries)
    return stop("more than " + std::to_string(options_.max_entries) + " entries");
  if (spent()) {
    return stop("its entries take more than " + std::to_string(options_.max_result_bytes) +
                " bytes of memory");
  }
  ++seen_;
  const std::string_view text = trim_url_space(raw.url);
  if (text.empty() && !raw.url_cut) {
    ++info_.dropped.no_url;
    return true;
  }
  auto url = raw.url_cut ? Result<Url>(error(ErrorCode::kInvalidArgument, "too long"))
                         : resolve(text, base);
  if (!url) {
    drop(text, url.error().code);
    return true;
  }
  SitemapEntry& entry = ready_.emplace_back();
  entry.url = *std::move(url);
  if (const std::string_view date = trim_url_space(raw.date); !date.empty()) {
    entry.last_modified_text = date.substr(0, kMaxDateText);
    entry.last_modified = parse_sitemap_date(entry.last_modified_text);
  }
  entry.change_frequency = parse_frequency(trim_url_space(raw.change_frequency));
  entry.priority = parse_priority(trim_url_space(raw.priority));
  entry.alternates.assign(std::make_move_iterator(raw.alternates.begin()),
                          std::make_move_iterator(raw.alternates.end()));
  result_bytes_ += kEntryBytes + entry.last_modified_text.size();
  ++info_.accepted;
  return true;
}

void EntryCollector::drop(std::string_view text, ErrorCode why) {
  auto fault = SitemapUrlFault::kInvalidUrl;
  switch (why) {
    case ErrorCode::kInvalidArgument:
      ++info_.dropped.too_long;
      fault = SitemapUrlFault::kTooLong;
      break;
    case ErrorCode::kUnsupportedScheme:
      ++info_.dropped.other_scheme;
      fault = SitemapUrlFault::kOtherScheme;
      break;
    default:
      ++info_.dropped.invalid_url;
  }
  if (on_dropped_) on_dropped_(text.substr(0, kMaxDroppedText), fault);
}

bool EntryCollector::add_line(std::string_view line, bool cut) {
  RawEntry raw;
  raw.url = trim_url_space(line);
  raw.url_cut = cut;
  if (raw.url.empty() && !cut) return true;
  const bool going_on = add(raw, nullptr);
  if (info_.accepted > 0) info_.kind = SitemapKind::kText;
  return going_on;
}

void EntryCollector::add_alternate(RawEntry& raw, std::string_view hreflang, std::string_view href,
                                   const Url* base) {
  if (raw.alternates.size() < options_.max_alternates && hreflang.size() <= kMaxDateText &&
      !trim_url_space(href).empty()) {
    if (auto url = resolve(trim_url_space(href), base)) {
      result_bytes_ += kAlternateBytes + hreflang.size();
      raw.alternates.push_back({std::string(trim(hreflang)), *std::move(url)});
      return;
    }
  }
  ++info_.dropped.alternates;
}

}  // namespace trawl
