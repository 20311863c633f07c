#include "crawler/parse/sitemap/sitemap_elements.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/url_space.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxShortField = 256;
// Limit of nested xml:base attributes; deeper ones are ignored.
constexpr std::size_t kMaxBases = 32;

std::string short_name(std::string_view name) {
  return to_lower(name.substr(0, kMaxShortField));
}

std::optional<std::string_view> find_attribute(const std::vector<XmlAttribute>& attributes,
                                               std::string_view name) {
  for (const XmlAttribute& attribute : attributes) {
    if (equal_in_any_case(attribute.name, name)) return attribute.value;
  }
  return std::nullopt;
}

// Whether `rel` contains the relation; Atom also writes relations as URLs.
bool has_relation(std::string_view rel, std::string_view relation) {
  constexpr std::string_view kIana = "http://www.iana.org/assignments/relation/";
  for (auto one = next_token(rel); !one.empty(); one = next_token(rel)) {
    if (one.starts_with(kIana)) one.remove_prefix(kIana.size());
    if (equal_in_any_case(one, relation)) return true;
  }
  return false;
}

// Prefixes of extensions whose elements have the same names as a sitemap's fields.
bool is_extension_prefix(std::string_view prefix) {
  return equal_in_any_case(prefix, "image") || equal_in_any_case(prefix, "video") ||
         equal_in_any_case(prefix, "news");
}

SitemapKind kind_of_root(std::string_view root) {
  if (root == "urlset") return SitemapKind::kUrlSet;
  if (root == "sitemapindex") return SitemapKind::kIndex;
  if (root == "rss" || root == "rdf") return SitemapKind::kRss;
  if (root == "feed") return SitemapKind::kAtom;
  return SitemapKind::kUnknown;
}

bool is_feed(SitemapKind kind) {
  return kind == SitemapKind::kRss || kind == SitemapKind::kAtom;
}

}  // namespace

void SitemapElements::start_element(const XmlName& name,
                                    const std::vector<XmlAttribute>& attributes) {
  end_field();
  ++depth_;
  if (done_) return;
  enter_base(attributes);
  if (depth_ == 1 && root_.empty()) {
    start_root(name);
    return;
  }
  const std::string local = short_name(name.local);
  if (begins_entry(local) && (entry_depth_ == 0 || name.prefix == entry_prefix_)) {
    start_entry(name);
  } else if (entry_depth_ != 0) {
    if (foreign_depth_ == 0) start_field(name, attributes);
  } else if (local == "link" && is_feed(collector_.info().kind) && !collector_.info().next) {
    const auto rel = find_attribute(attributes, "rel");
    const auto href = find_attribute(attributes, "href");
    if (!rel || !href || !has_relation(*rel, "next") || trim_url_space(*href).empty()) return;
    if (auto next = collector_.resolve(trim_url_space(*href), base()))
      collector_.info().next = *std::move(next);
  }
}

void SitemapElements::end_element(const XmlName&) {
  end_field();
  if (foreign_depth_ == depth_) foreign_depth_ = 0;
  if (entry_depth_ == depth_ && entry_depth_ != 0) end_entry();
  if (!bases_.empty() && bases_.back().first == depth_) bases_.pop_back();
  if (depth_ > 0) --depth_;
}

void SitemapElements::text(std::string_view text) {
  if (!field_) return;
  const bool url = field_ == Field::kUrl || field_ == Field::kFallbackUrl;
  // White space around a URL is allowed, but only some.
  const std::size_t limit = url ? collector_.options().max_url_length + 1024 : kMaxShortField;
  if (field_text_.empty()) skip_white_space(text);
  const std::size_t room = limit - field_text_.size();
  url_cut_ = url_cut_ || text.size() > room;
  field_text_.append(text.substr(0, room));
}

void SitemapElements::finish() {
  // A field in which the document ends is incomplete.
  field_.reset();
  const bool has_url = !entry_.url.empty() || !fallback_url_.empty();
  if (entry_depth_ != 0 && has_url && !done_) end_entry();
}

void SitemapElements::start_root(const XmlName& name) {
  root_ = short_name(name.local);
  collector_.info().kind = kind_of_root(root_);
  done_ = collector_.info().kind == SitemapKind::kUnknown;
}

bool SitemapElements::begins_entry(std::string_view local) const {
  switch (collector_.info().kind) {
    case SitemapKind::kUrlSet:
    case SitemapKind::kIndex:
      return local == "url" || local == "sitemap";
    case SitemapKind::kRss:
      return local == "item";
    case SitemapKind::kAtom:
      return local == "entry";
    case SitemapKind::kUnknown:
    case SitemapKind::kText:
      return false;
  }
  return false;
}

void SitemapElements::start_entry(const XmlName& name) {
  if (entry_depth_ != 0) end_entry();
  if (done_) return;
  SitemapInfo& info = collector_.info();
  // Some sites list sitemaps in a <urlset> or pages in a <sitemapindex>: the first entry decides.
  if (info.accepted == 0 && !is_feed(info.kind)) {
    info.kind = equal_in_any_case(name.local, "url") ? SitemapKind::kUrlSet : SitemapKind::kIndex;
  }
  entry_depth_ = depth_;
  entry_prefix_ = name.prefix;
  begin_entry();
}

void SitemapElements::begin_entry() {
  entry_.clear();
  fallback_url_.clear();
  fallback_cut_ = false;
  fallback_date_.clear();
  entry_base_.reset();
  html_link_ = false;
}

void SitemapElements::start_field(const XmlName& name,
                                  const std::vector<XmlAttribute>& attributes) {
  const std::string local = short_name(name.local);
  const bool own_prefix = name.prefix == entry_prefix_;
  bool known = false;
  const std::optional<Field> field = is_feed(collector_.info().kind)
                                         ? feed_field(local, own_prefix, attributes, known)
                                         : sitemap_field(name, local, attributes, known);
  if (!known) {
    foreign_depth_ = depth_;
    return;
  }
  field_ = field;
  field_text_.clear();
  url_cut_ = false;
}

std::optional<SitemapElements::Field> SitemapElements::sitemap_field(
    const XmlName& name, std::string_view local, const std::vector<XmlAttribute>& attributes,
    bool& known) {
  known = true;
  if (local == "link") {
    const auto rel = find_attribute(attributes, "rel");
    const auto href = find_attribute(attributes, "href");
    if (rel && href && has_relation(*rel, "alternate")) {
      collector_.add_alternate(entry_, find_attribute(attributes, "hreflang").value_or(""), *href,
                               base());
    }
    return std::nullopt;
  }
  const bool own_prefix = name.prefix == entry_prefix_;
  const bool other_prefix = depth_ == entry_depth_ + 1 && !is_extension_prefix(name.prefix);
  if (own_prefix || other_prefix) {
    if (local == "loc" && own_prefix) {
      if (!entry_.url.empty()) end_entry_before_loc();
      return done_ ? std::nullopt : std::optional(Field::kUrl);
    }
    if (local == "loc") {
      if (!fallback_url_.empty()) warn_of_other_loc("of another prefix", "the first is used");
      return Field::kFallbackUrl;
    }
    if (local == "lastmod") return own_prefix ? Field::kDate : Field::kFallbackDate;
    if (local == "changefreq") return Field::kFrequency;
    if (local == "priority") return Field::kPriority;
  }
  known = false;
  return std::nullopt;
}

std::optional<SitemapElements::Field> SitemapElements::feed_field(
    std::string_view local, bool own_prefix, const std::vector<XmlAttribute>& attributes,
    bool& known) {
  known = true;
  const bool atom = collector_.info().kind == SitemapKind::kAtom;
  if (local == "link") {
    if (find_attribute(attributes, "href")) {
      feed_link(attributes, own_prefix);
      return std::nullopt;
    }
    return own_prefix && !atom && entry_.url.empty() ? std::optional(Field::kUrl) : std::nullopt;
  }
  if (own_prefix && local == "guid" && !atom) {
    const std::string_view permalink = find_attribute(attributes, "isPermaLink").value_or("true");
    return equal_in_any_case(trim(permalink), "false") ? std::nullopt
                                                       : std::optional(Field::kFallbackUrl);
  }
  // "modified" and "issued" are of Atom 0.3; "pubDate" of RSS, which may also use Dublin Core's
  // "date".
  if (own_prefix && (local == "updated" || local == "modified" || local == "pubdate"))
    return Field::kDate;
  if (own_prefix && (local == "published" || local == "issued")) return Field::kFallbackDate;
  if (!atom && local == "date") return Field::kFallbackDate;
  known = false;
  return std::nullopt;
}

// The entry's URL is the first link to a page, or else the first alternate.
void SitemapElements::feed_link(const std::vector<XmlAttribute>& attributes, bool own_prefix) {
  const std::string_view href = trim_url_space(find_attribute(attributes, "href").value_or(""));
  const auto rel = find_attribute(attributes, "rel");
  if (href.empty() || (rel && !trim(*rel).empty() && !has_relation(*rel, "alternate"))) return;
  const std::string_view type = find_attribute(attributes, "type").value_or("");
  const bool html = type.empty() || type.find("html") != type.npos;
  const bool cut = href.size() > collector_.options().max_url_length;
  if (!own_prefix || collector_.info().kind == SitemapKind::kRss) {
    if (fallback_url_.empty() && !cut) fallback_url_ = href;
    return;
  }
  if (!entry_.url.empty() && (html_link_ || !html)) return;
  entry_.url = href.substr(0, collector_.options().max_url_length);
  entry_.url_cut = cut;
  html_link_ = html;
  keep_base();
}

void SitemapElements::end_field() {
  const std::optional<Field> field = std::exchange(field_, std::nullopt);
  if (!field) return;
  switch (*field) {
    case Field::kUrl:
      entry_.url = trim_url_space(field_text_);
      entry_.url_cut = url_cut_;
      if (!entry_.url.empty()) keep_base();
      return;
    case Field::kFallbackUrl:
      if (!fallback_url_.empty() || fallback_cut_) return;
      if (!url_cut_) fallback_url_ = trim_url_space(field_text_);
      fallback_cut_ = url_cut_ && !is_feed(collector_.info().kind);
      // A <loc> of another prefix is resolved against the same base.
      if (entry_.url.empty() && !fallback_url_.empty()) keep_base();
      return;
    case Field::kDate:
      if (entry_.date.empty()) entry_.date = field_text_;
      return;
    case Field::kFallbackDate:
      if (fallback_date_.empty()) fallback_date_ = field_text_;
      return;
    case Field::kFrequency:
      entry_.change_frequency = field_text_;
      return;
    case Field::kPriority:
      entry_.priority = field_text_;
      return;
  }
}

// A second <loc>: handled as if the entry had ended and another begun.
void SitemapElements::end_entry_before_loc() {
  warn_of_other_loc("", "each is used");
  const std::size_t depth = entry_depth_;
  end_entry();
  if (done_) return;
  entry_depth_ = depth;
  begin_entry();
}

void SitemapElements::warn_of_other_loc(std::string_view which, std::string_view what) {
  if (std::exchange(other_loc_told_, true)) return;
  std::string text = "an entry has more than one <loc>";
  if (!which.empty()) text.append(" ").append(which);
  collector_.warn(text.append(": ").append(what));
}

void SitemapElements::end_entry() {
  entry_depth_ = 0;
  foreign_depth_ = 0;
  if (done_) return;
  const Url* from = entry_base_ ? &*entry_base_ : base();
  const bool fallback = !fallback_url_.empty() || fallback_cut_;
  if (entry_.url.empty() && !entry_.url_cut && fallback) {
    entry_.url = fallback_url_;
    entry_.url_cut = fallback_cut_;
    // A guid may be any text, and would always be a URL if resolved against the feed; so it must be
    // absolute. The same goes for links of other namespaces.
    if (is_feed(collector_.info().kind)) from = nullptr;
  }
  if (trim(entry_.date).empty()) entry_.date = fallback_date_;
  if (!collector_.add(entry_, from)) done_ = true;
  entry_.clear();
}

void SitemapElements::enter_base(const std::vector<XmlAttribute>& attributes) {
  const auto written = find_attribute(attributes, "xml:base");
  if (!written || bases_.size() >= kMaxBases) return;
  if (auto url = collector_.resolve_base(*written, base()))
    bases_.emplace_back(depth_, *std::move(url));
}

void SitemapElements::keep_base() {
  if (bases_.empty())
    entry_base_.reset();
  else
    entry_base_ = *base();
}

const Url* SitemapElements::base() const {
  return bases_.empty() ? &collector_.base() : &bases_.back().second;
}

}  // namespace trawl
