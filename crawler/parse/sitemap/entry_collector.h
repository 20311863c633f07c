// EntryCollector: converts raw entries of a document to SitemapEntry, within the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/sitemap.h"

namespace trawl {

// An entry as written: unchecked, including surrounding white space.
struct RawEntry {
  std::string url;
  bool url_cut = false;  // longer than the part kept
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

  // Adds an entry, its URL resolved against `base` (null: absolute URLs only), or counts why it is
  // dropped. Returns false if it exceeds the limit of entries.
  bool add(RawEntry& raw, const Url* base);
  // Adds a line of a text sitemap, by the same rules. Ignores empty lines.
  bool add_line(std::string_view line, bool cut);
  // Adds an alternate to `raw`, or counts it as dropped.
  void add_alternate(RawEntry& raw, std::string_view hreflang, std::string_view href,
                     const Url* base);

  // Resolves a reference. Errors: kInvalidArgument if it is too long or the memory limit is used
  // up; those of Url::parse().
  Result<Url> resolve(std::string_view text, const Url* base);
  // Resolves an xml:base; an invalid URL if it is too long, so that relative references within are
  // dropped.
  std::optional<Url> resolve_base(std::string_view text, const Url* base);

  void warn(std::string text);
  // The same, and marks the document as read only in part.
  void warn_incomplete(std::string text);

  const Url& base() const noexcept { return base_; }
  const SitemapOptions& options() const noexcept { return options_; }
  SitemapInfo& info() noexcept { return info_; }
  const SitemapInfo& info() const noexcept { return info_; }
  // Entries added but not yet passed on.
  std::vector<SitemapEntry>& ready() noexcept { return ready_; }
  bool full() const noexcept { return full_; }

 private:
  Result<Url> resolve(std::string_view text, const Url* base, std::size_t max_length);
  void drop(std::string_view text, ErrorCode why);
  bool stop(std::string why);
  void warn_of_long_base();
  bool spent() const noexcept { return result_bytes_ > options_.max_result_bytes; }

  Url base_;  // invalid if too long
  SitemapOptions options_;
  SitemapReader::OnDropped on_dropped_;
  SitemapInfo info_;
  std::vector<SitemapEntry> ready_;
  std::size_t seen_ = 0;            // entries, including dropped ones
  std::uint64_t result_bytes_ = 0;  // see SitemapOptions::max_result_bytes
  bool full_ = false;
  bool long_base_ = false;
  bool long_base_told_ = false;
};

}  // namespace trawl
