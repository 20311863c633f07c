// What the tests of sitemaps share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "trawl/sitemap.h"

namespace trawl {

inline Url sitemap_url() {
  return *Url::parse("http://site.example/dir/sitemap.xml");
}

inline Sitemap parse_sitemap(std::string_view bytes, const SitemapOptions& options = {}) {
  return Sitemap::parse(bytes, sitemap_url(), options);
}

inline std::vector<std::string> urls(const std::vector<SitemapEntry>& entries) {
  std::vector<std::string> result;
  for (const SitemapEntry& entry : entries)
    result.emplace_back(entry.url.href());
  return result;
}

inline std::vector<std::string> urls_of(std::string_view bytes) {
  return urls(parse_sitemap(bytes).entries);
}

// The first entry of a <urlset> whose only <url> holds `fields`.
inline SitemapEntry entry_of(const std::string& fields) {
  const Sitemap sitemap = parse_sitemap("<urlset><url>" + fields + "</url></urlset>");
  if (sitemap.entries.size() != 1) {
    ADD_FAILURE() << sitemap.entries.size() << " entries instead of 1: " << fields;
    return {};
  }
  return sitemap.entries[0];
}

// The URL of a <loc> that is written as `loc`.
inline std::string url_of(const std::string& loc) {
  return std::string(entry_of("<loc>" + loc + "</loc>").url.href());
}

// True if one of the warnings has `part` in it.
inline bool warns(const SitemapInfo& info, std::string_view part) {
  for (const std::string& warning : info.warnings) {
    if (warning.find(part) != warning.npos) return true;
  }
  return false;
}

// One line for each thing there is to know, for comparisons.
inline std::string describe(const SitemapInfo& info, const std::vector<SitemapEntry>& entries) {
  std::string text(to_string(info.kind));
  for (const std::size_t count :
       {info.accepted, info.dropped.invalid_url, info.dropped.other_scheme, info.dropped.too_long,
        info.dropped.no_url, info.dropped.alternates, static_cast<std::size_t>(info.bytes),
        static_cast<std::size_t>(info.gzip), static_cast<std::size_t>(info.complete)})
    text += ' ' + std::to_string(count);
  text += '\n';
  if (info.next) text += "next " + std::string(info.next->href()) + '\n';
  for (const std::string& warning : info.warnings)
    text += "warning " + warning + '\n';
  for (const SitemapEntry& entry : entries) {
    text += std::string(entry.url.href()) + ' ' + entry.last_modified_text;
    if (entry.last_modified) {
      text += " @" + std::to_string(entry.last_modified->time_since_epoch().count());
    }
    if (entry.change_frequency) text += ' ' + std::string(to_string(*entry.change_frequency));
    if (entry.priority) text += ' ' + std::to_string(*entry.priority);
    for (const SitemapAlternate& alternate : entry.alternates)
      text += ' ' + alternate.hreflang + '=' + std::string(alternate.url.href());
    text += '\n';
  }
  return text;
}

inline std::string gzip(std::string_view data) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string packed(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace trawl
