// SitemapElements: interprets the elements of sitemaps and feeds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crawler/parse/sitemap/entry_collector.h"
#include "crawler/parse/sitemap/xml_push_parser.h"

namespace trawl {

// Collects entries from XML that may be invalid. Names match in any case and any namespace. Within
// an entry, elements with the entry's own prefix are its fields, so <image:loc> is not a <loc>;
// elements with another prefix directly below a sitemap's entry are used if the own field is
// missing. A field ends at the next tag of any name; an entry that is not closed ends where the
// next one begins.
class SitemapElements : public XmlHandler {
 public:
  explicit SitemapElements(EntryCollector& collector) : collector_(collector) {}

  void start_element(const XmlName& name, const std::vector<XmlAttribute>& attributes) override;
  void end_element(const XmlName& name) override;
  void text(std::string_view text) override;

  // Ends the document: an entry that is not closed is used if its URL is complete.
  void finish();

  // True if the root is not that of a sitemap or feed, or the limit of entries is reached.
  bool done() const noexcept { return done_; }
  const std::string& root() const noexcept { return root_; }

 private:
  enum class Field { kUrl, kFallbackUrl, kDate, kFallbackDate, kFrequency, kPriority };

  void start_root(const XmlName& name);
  void start_entry(const XmlName& name);
  void begin_entry();
  void start_field(const XmlName& name, const std::vector<XmlAttribute>& attributes);
  // Nothing: what is in the element is not read.
  std::optional<Field> sitemap_field(const XmlName& name, std::string_view local,
                                     const std::vector<XmlAttribute>& attributes, bool& known);
  std::optional<Field> feed_field(std::string_view local, bool own_prefix,
                                  const std::vector<XmlAttribute>& attributes, bool& known);
  void feed_link(const std::vector<XmlAttribute>& attributes, bool own_prefix);
  void end_field();
  void end_entry();
  void end_entry_before_loc();
  void warn_of_other_loc(std::string_view which, std::string_view what);
  bool begins_entry(std::string_view local) const;
  void enter_base(const std::vector<XmlAttribute>& attributes);
  void keep_base();
  const Url* base() const;

  EntryCollector& collector_;
  std::string root_;
  RawEntry entry_;
  std::string fallback_url_;   // a guid, or a link or loc of another namespace
  bool fallback_cut_ = false;  // it was a <loc> that was too long
  std::string fallback_date_;
  std::string entry_prefix_;
  std::string field_text_;
  // The bases set by xml:base, each with the depth of its element.
  std::vector<std::pair<std::size_t, Url>> bases_;
  std::optional<Url> entry_base_;  // the base at the entry's URL
  std::optional<Field> field_;
  std::size_t depth_ = 0;
  std::size_t entry_depth_ = 0;    // 0: not in an entry
  std::size_t foreign_depth_ = 0;  // depth of the enclosing element of an extension; 0: none
  bool html_link_ = false;         // the entry's link is to a page
  bool url_cut_ = false;
  bool other_loc_told_ = false;
  bool done_ = false;
};

}  // namespace trawl
