// The texts of a page's links as a tree has them: what stands in each <a>, to hold Link::text
// against, which is read without one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gumbo.h>

#include "trawl/links.h"

#include "base/ascii.h"

namespace trawl {

// Without its white space, since the tree does not show where it is visible.
inline std::string without_white_space(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (!is_html_white_space(c)) kept += c;
  return kept;
}

class AnchorTextsOfTree {
 public:
  // `html` is UTF-8.
  explicit AnchorTextsOfTree(std::string_view html) : html_(html) {
    GumboOutput* output = gumbo_parse_with_options(&kGumboDefaultOptions, html.data(), html.size());
    read(*output->root, nullptr);
    gumbo_destroy_output(&kGumboDefaultOptions, output);
  }

  // Those of <a> with an href that is an http(s) URL, in the order of the source, without white
  // space and as long as they are.
  std::vector<std::string> of_links(const Url& base) const {
    std::vector<std::string> texts;
    for (const auto& [place, anchor] : anchors_) {
      Url url;
      if (anchor.href && Url::parse_into(*anchor.href, &base, url)) texts.push_back(anchor.text);
    }
    return texts;
  }

 private:
  struct Anchor {
    std::optional<std::string> href;
    std::string text;
  };

  static bool is_text(const GumboNode& node) {
    return node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
           node.type == GUMBO_NODE_CDATA;
  }

  // `anchor` is the innermost around `node`. Copies of it that misnesting makes have its place.
  void read(const GumboNode& node, Anchor* anchor) {
    if (is_text(node)) {
      if (anchor != nullptr) anchor->text += without_white_space(node.v.text.text);
      return;
    }
    if (node.type != GUMBO_NODE_ELEMENT) return;
    const GumboElement& element = node.v.element;
    switch (element.tag) {
      case GUMBO_TAG_SCRIPT:
      case GUMBO_TAG_STYLE:
      case GUMBO_TAG_TEXTAREA:
      case GUMBO_TAG_IFRAME:
        return;
      case GUMBO_TAG_A:
        anchor = &anchors_[element.original_tag.data - html_.data()];
        if (const auto* href = gumbo_get_attribute(&element.attributes, "href"))
          anchor->href = href->value;
        break;
      case GUMBO_TAG_IMG:
        if (const auto* alt = gumbo_get_attribute(&element.attributes, "alt"); alt && anchor)
          anchor->text += without_white_space(alt->value);
        break;
      default:
        break;
    }
    for (unsigned i = 0; i < element.children.length; ++i)
      read(*static_cast<const GumboNode*>(element.children.data[i]), anchor);
  }

  const std::string_view html_;
  std::map<std::ptrdiff_t, Anchor> anchors_;  // by where they begin
};

}  // namespace trawl
