// The first byte of the input chooses limits, the document's URL, and how the rest, the document,
// is cut into pieces: no crash, the limits hold, and the pieces give what the whole gives.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/sitemap.h"

namespace {

bool same(const trawl::SitemapEntry& a, const trawl::SitemapEntry& b) {
  return a.url == b.url && a.last_modified == b.last_modified &&
         a.last_modified_text == b.last_modified_text && a.change_frequency == b.change_frequency &&
         a.priority == b.priority &&
         std::equal(a.alternates.begin(), a.alternates.end(), b.alternates.begin(),
                    b.alternates.end(), [](const auto& x, const auto& y) {
                      return x.hreflang == y.hreflang && x.url == y.url;
                    });
}

bool same(const trawl::SitemapInfo& a, const trawl::SitemapInfo& b) {
  return a.kind == b.kind && a.accepted == b.accepted && a.bytes == b.bytes && a.gzip == b.gzip &&
         a.complete == b.complete && a.next == b.next && a.warnings == b.warnings &&
         a.dropped.invalid_url == b.dropped.invalid_url && a.dropped.no_url == b.dropped.no_url &&
         a.dropped.other_scheme == b.dropped.other_scheme &&
         a.dropped.too_long == b.dropped.too_long && a.dropped.alternates == b.dropped.alternates;
}

// URLs of documents, some of a few KB: the last is longer than a base may be.
trawl::Url base_url(unsigned choice) {
  static constexpr std::array<std::size_t, 4> kPathLengths = {3, 4000, 8100, 9000};
  static const std::array<trawl::Url, 4> urls = [] {
    std::array<trawl::Url, 4> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = *trawl::Url::parse("http://site.example/" + std::string(kPathLengths[i], 'd') +
                                   "/sitemap.xml");
    }
    return made;
  }();
  return urls[choice % urls.size()];
}

// What a sitemap holds at least.
std::size_t size_of(const trawl::Sitemap& sitemap) {
  std::size_t size = 0;
  for (const trawl::SitemapEntry& entry : sitemap.entries) {
    size += sizeof(entry) + entry.url.href().size() + entry.last_modified_text.size();
    for (const trawl::SitemapAlternate& alternate : entry.alternates)
      size += sizeof(alternate) + alternate.url.href().size() + alternate.hreflang.size();
  }
  return size;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const trawl::Url base = base_url(data[0] >> 2);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  trawl::SitemapOptions options;
  if ((data[0] & 3) == 1) options.max_entries = 3;
  if ((data[0] & 3) == 2) options.max_bytes = 300;
  if ((data[0] & 3) == 3) options.max_url_length = 40;
  options.max_alternates = (data[0] & 16) != 0 ? 4 : 500;
  // Little enough for documents of a fuzzer's size to go beyond it.
  options.max_result_bytes = 64u << 10;

  const trawl::Sitemap whole = trawl::Sitemap::parse(bytes, base, options);
  require(whole.accepted == whole.entries.size());
  require(whole.accepted <= options.max_entries && whole.bytes <= options.max_bytes);
  require(whole.kind != trawl::SitemapKind::kUnknown || whole.entries.empty());
  // The last URL is what goes beyond the limit.
  require(size_of(whole) <= options.max_result_bytes + options.max_url_length + 1024);
  for (const trawl::SitemapEntry& entry : whole.entries) {
    require(entry.url.href().size() <= options.max_url_length);
    for (const trawl::SitemapAlternate& alternate : entry.alternates)
      require(alternate.url.href().size() <= options.max_url_length);
    require(!entry.url.href().empty() && entry.alternates.size() <= options.max_alternates);
    require(!entry.priority || (*entry.priority >= 0 && *entry.priority <= 1));
  }

  std::vector<trawl::SitemapEntry> entries;
  trawl::SitemapReader reader(
      base, [&](trawl::SitemapEntry&& entry) { entries.push_back(std::move(entry)); }, options);
  std::minstd_rand random(data[0]);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = 1 + random() % (1u << random() % 9);
    if (!reader.feed(bytes.substr(at, length))) break;
    at += length;
  }
  require(same(reader.finish(), whole));
  require(std::equal(entries.begin(), entries.end(), whole.entries.begin(), whole.entries.end(),
                     [](const auto& a, const auto& b) { return same(a, b); }));
  return 0;
}
