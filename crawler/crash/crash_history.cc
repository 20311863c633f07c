// Of the hundreds of URLs in flight at a crash, one may be its cause, or none. A URL that crashes
// the crawl is in flight at each crash that it causes; most others are not. So URLs in flight at
// two crashes in a row are suspects. A suspect is fetched when nothing else is left, and alone: if
// the crawl crashes then, the suspect is taken for the cause and set aside. So each URL that
// crashes the crawl costs three crashes, and all other URLs are fetched before the third.
#include "crawler/crash/crash_history.h"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::string_view kHistoryMagic = "TRAWLCRS";
constexpr std::uint32_t kHistoryVersion = 1;

using Urls = std::vector<InFlightUrl>;

void put_urls(std::string& out, const Urls& urls) {
  put_varint(out, urls.size());
  for (const InFlightUrl& url : urls) {
    put_fixed(out, url.hash_high);
    put_fixed(out, url.hash_low);
    put_string(out, url.text);
  }
}

Urls take_urls(Decoder& in) {
  Urls urls;
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    InFlightUrl url;
    url.hash_high = in.fixed<std::uint64_t>();
    url.hash_low = in.fixed<std::uint64_t>();
    url.text = in.string();
    urls.push_back(std::move(url));
  }
  return urls;
}

}  // namespace

bool CrashHistory::add(const InFlightRecord& run) {
  if (run.signal == 0 || run.run == last_run_) return false;
  last_run_ = run.run;
  ++in_a_row_;
  const bool alone = run.urls.size() == 1 && run.unlisted == 0;
  if (alone && has(suspects_, run.urls.front())) {
    std::erase(suspects_, run.urls.front());
    if (!has(crashed_, run.urls.front())) crashed_.push_back(run.urls.front());
    // The cause is known, so the row of crashes ends.
    in_a_row_ = 0;
    last_.clear();
    return true;
  }
  for (const InFlightUrl& url : run.urls) {
    if (has(last_, url) && !has(suspects_, url) && !has(crashed_, url)) suspects_.push_back(url);
  }
  last_ = run.urls;
  return true;
}

bool CrashHistory::end_in_order(const Urls& fetched) {
  const auto harmless =
      std::erase_if(suspects_, [&](const InFlightUrl& url) { return has(fetched, url); });
  const bool changed = harmless > 0 || in_a_row_ > 0 || !last_.empty();
  in_a_row_ = 0;
  last_.clear();
  return changed;
}

void CrashHistory::forget(const InFlightUrl& url) {
  std::erase(crashed_, url);
}

bool CrashHistory::suspects(const InFlightUrl& url) const {
  return has(suspects_, url);
}

bool CrashHistory::is_cause(const InFlightUrl& url) const {
  return has(crashed_, url);
}

std::string CrashHistory::encode() const {
  std::string out(kHistoryMagic);
  put_fixed(out, kHistoryVersion);
  put_fixed(out, last_run_);
  put_fixed(out, in_a_row_);
  put_urls(out, last_);
  put_urls(out, suspects_);
  put_urls(out, crashed_);
  put_fixed(out, std::uint64_t{XXH3_64bits(out.data(), out.size())});
  return out;
}

Result<CrashHistory> CrashHistory::decode(std::string_view bytes) {
  if (bytes.size() < kHistoryMagic.size() + 12 || !bytes.starts_with(kHistoryMagic))
    return error(ErrorCode::kCorrupt, "it does not begin with the magic number");
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  if (Decoder(bytes.substr(body.size())).fixed<std::uint64_t>() !=
      XXH3_64bits(body.data(), body.size())) {
    return error(ErrorCode::kCorrupt, "its checksum is wrong");
  }
  Decoder in(body.substr(kHistoryMagic.size()));
  if (const auto version = in.fixed<std::uint32_t>(); version != kHistoryVersion) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("it has version {}; this version of trawl reads version {}", version,
                             kHistoryVersion));
  }
  CrashHistory history;
  history.last_run_ = in.fixed<std::uint64_t>();
  history.in_a_row_ = in.fixed<std::uint32_t>();
  history.last_ = take_urls(in);
  history.suspects_ = take_urls(in);
  history.crashed_ = take_urls(in);
  if (!in.done()) return error(ErrorCode::kCorrupt, "its length is wrong");
  return history;
}

}  // namespace trawl
