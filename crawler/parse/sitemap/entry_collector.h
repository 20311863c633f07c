// EntryCollector: turns what a document says of its entries into SitemapEntry, within the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/sitemap.h"

namespace trawl {

// An entry as it is written: nothing checked, white space at the ends included.
struct RawEntry {
  std::string url;
  bool url_cut = false;  // it went on beyond what is kept
  std::string date;
  std::string change_frequency;
  std::string priority;
  std::vector<SitemapAlternate> alternates;

  void clear();
};

class EntryCollector {
 public:
  EntryCollector(const Url& base, const SitemapOptions& options,
                 SitemapReader::OnDropped on_dropped = {});

  // Adds an entry, its URL relative to `base` (null: absolute ones alone), or counts why not.
  // False if it is one more than may be read.
  bool add(RawEntry& raw, const Url* base);
  // Adds a line of a text sitemap, under the same rules. Empty lines are none.
  bool add_line(std::string_view line, bool cut);
  // Adds an alternate to `raw`, or counts it as dropped.
  void add_alternate(RawEntry& raw, std::string_view hreflang, std::string_view href,
                     const Url* base);

  // The URL of a reference. Errors: kInvalidArgument if it is too long or what it would take is no
  // longer to be had; those of Url::parse().
  Result<Url> resolve(std::string_view text, const Url* base);
  // What an xml:base says: no URL, so that relative references within it are none, if it is too
  // long.
  std::optional<Url> resolve_base(std::string_view text, const Url* base);

  void warn(std::string text);
  // The same, and what was read is not all there is.
  void warn_incomplete(std::string text);

  const Url& base() const noexcept { return base_; }
  const SitemapOptions& options() const noexcept { return options_; }
  SitemapInfo& info() noexcept { return info_; }
  const SitemapInfo& info() const noexcept { return info_; }
  // What was added and not yet handed on.
  std::vector<SitemapEntry>& ready() noexcept { return ready_; }
  bool full() const noexcept { return full_; }

 private:
  Result<Url> resolve(std::string_view text, const Url* base, std::size_t max_length);
  void drop(std::string_view text, ErrorCode why);
  bool stop(std::string why);
  void warn_of_long_base();
  bool spent() const noexcept { return result_bytes_ > options_.max_result_bytes; }

  Url base_;  // none if it is too long
  SitemapOptions options_;
  SitemapReader::OnDropped on_dropped_;
  SitemapInfo info_;
  std::vector<SitemapEntry> ready_;
  std::size_t seen_ = 0;            // entries, dropped ones included
  std::uint64_t result_bytes_ = 0;  // see SitemapOptions::max_result_bytes
  bool full_ = false;
  bool long_base_ = false;
  bool long_base_told_ = false;
};

}  // namespace trawl
