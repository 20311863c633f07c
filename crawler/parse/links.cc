#include "trawl/links.h"

#include <cstring>

#include "crawler/parse/gumbo_cage.h"

namespace trawl {
namespace {

// An attribute value that may become a link, in Gumbo's memory.
struct Reference {
  std::string_view value;
  LinkKind kind;
};

struct References {
  std::vector<Reference> found;
  std::optional<std::string_view> base;  // of the first <base> that has an href
};

std::optional<std::string_view> attribute(const GumboElement& element, const char* name,
                                          GumboAttributeNamespaceEnum name_space) {
  for (unsigned i = 0; i < element.attributes.length; ++i) {
    const auto* one = static_cast<const GumboAttribute*>(element.attributes.data[i]);
    if (one->attr_namespace == name_space && std::strcmp(one->name, name) == 0) return one->value;
  }
  return std::nullopt;
}

std::optional<std::string_view> attribute(const GumboElement& element, const char* name) {
  return attribute(element, name, GUMBO_ATTR_NAMESPACE_NONE);
}

// SVG's <a> takes its target from href or else xlink:href, as browsers do.
void visit_svg(const GumboElement& element, References& references) {
  if (element.tag != GUMBO_TAG_A) return;
  auto value = attribute(element, "href");
  if (!value) value = attribute(element, "href", GUMBO_ATTR_NAMESPACE_XLINK);
  if (value) references.found.push_back({*value, LinkKind::kNavigation});
}

void visit_html(const GumboElement& element, References& references) {
  // An empty href of <a> is the page itself; of the others an empty reference loads nothing.
  const auto add = [&](std::optional<std::string_view> value, LinkKind kind, bool empty_counts) {
    if (value && (empty_counts || !value->empty())) references.found.push_back({*value, kind});
  };
  switch (element.tag) {
    case GUMBO_TAG_A:
    case GUMBO_TAG_AREA:
      return add(attribute(element, "href"), LinkKind::kNavigation, true);
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_FRAME:
      return add(attribute(element, "src"), LinkKind::kDocument, false);
    case GUMBO_TAG_LINK:
      return add(attribute(element, "href"), LinkKind::kResource, false);
    case GUMBO_TAG_BASE:
      if (!references.base) references.base = attribute(element, "href");
      return;
    default:
      return;
  }
}

// Misnested tags make the parser repeat elements: "<a><p>x<p>y" has an <a> in each paragraph. Only
// the first of them stands in the page.
bool is_copy(const GumboNode& node) {
  constexpr unsigned kCopied =
      static_cast<unsigned>(GUMBO_INSERTION_RECONSTRUCTED_FORMATTING_ELEMENT) |
      static_cast<unsigned>(GUMBO_INSERTION_ADOPTION_AGENCY_CLONED);
  return (static_cast<unsigned>(node.parse_flags) & kCopied) != 0;
}

void visit(const GumboNode& node, References& references) {
  if (is_copy(node)) return;
  const GumboElement& element = node.v.element;
  if (element.tag_namespace == GUMBO_NAMESPACE_HTML) visit_html(element, references);
  if (element.tag_namespace == GUMBO_NAMESPACE_SVG) visit_svg(element, references);
}

// Walks the tree in document order. Not by recursion: a page decides how deep it is. What is in an
// HTML <template> is not part of the document.
References collect(const GumboNode& document) {
  struct Level {
    const GumboVector* children;
    unsigned next;
  };
  References references;
  std::vector<Level> levels{{&document.v.document.children, 0}};
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.children->length) {
      levels.pop_back();
      continue;
    }
    const auto* node = static_cast<const GumboNode*>(level.children->data[level.next++]);
    if (node->type != GUMBO_NODE_ELEMENT && node->type != GUMBO_NODE_TEMPLATE) continue;
    const GumboElement& element = node->v.element;
    if (element.tag == GUMBO_TAG_TEMPLATE && element.tag_namespace == GUMBO_NAMESPACE_HTML) {
      continue;
    }
    visit(*node, references);
    if (element.children.length > 0) levels.push_back({&element.children, 0});
  }
  return references;
}

// Fills `page` and returns true, or returns false if the links would take over `max_memory` bytes:
// a long <base> and many short references make pages that are far larger than they were.
bool resolve(const References& references, const Url& fallback, std::size_t max_memory,
             PageLinks& page) {
  if (references.base) {
    if (auto base = Url::parse(*references.base, &fallback)) page.base = *std::move(base);
  }
  const Url& base = page.base ? *page.base : fallback;
  std::size_t memory = references.found.size() * (sizeof(Reference) + sizeof(Link));
  if (memory > max_memory) return false;
  page.links.reserve(references.found.size());
  for (const Reference& reference : references.found) {
    auto url = Url::parse(reference.value, &base);
    if (url) {
      memory += url->href().size();
      if (memory > max_memory) return false;
      page.links.push_back({*std::move(url), reference.kind});
    } else if (url.error().code == ErrorCode::kUnsupportedScheme) {
      ++page.other_scheme;
    } else {
      ++page.invalid;
    }
  }
  return true;
}

LinksSkipped skipped(GumboCage::Verdict verdict) {
  switch (verdict) {
    case GumboCage::Verdict::kParsed:
      return LinksSkipped::kNo;
    case GumboCage::Verdict::kTooMuchMemory:
      return LinksSkipped::kTooLarge;
    case GumboCage::Verdict::kTooDeep:
      return LinksSkipped::kTooDeep;
    case GumboCage::Verdict::kTooSlow:
      return LinksSkipped::kTooSlow;
    case GumboCage::Verdict::kBroken:
      return LinksSkipped::kUnparsable;
  }
  return LinksSkipped::kNo;
}

PageLinks without_links(LinksSkipped why) {
  PageLinks page;
  page.skipped = why;
  return page;
}

}  // namespace

PageLinks extract_links(std::string_view html, const Url& base, const LinkOptions& options) {
  if (html.size() > options.max_bytes) return without_links(LinksSkipped::kTooLarge);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (html.starts_with(kByteOrderMark)) html.remove_prefix(kByteOrderMark.size());
  if (html.empty()) return {};

  GumboCage cage({.max_depth = options.max_depth,
                  .max_memory = options.max_memory,
                  .max_time = options.max_time});
  const LinksSkipped why = skipped(cage.parse(html));
  if (why != LinksSkipped::kNo) return without_links(why);
  PageLinks page;
  const std::size_t memory_left = options.max_memory - cage.memory_used();
  if (!resolve(collect(*cage.document()), base, memory_left, page)) {
    return without_links(LinksSkipped::kTooLarge);
  }
  return page;
}

}  // namespace trawl
