// The text of a page as a tree has it, to hold PageLinks::text against, which is read without one.
#pragma once

#include <string>
#include <string_view>

#include <gumbo.h>

#include "tests/support/anchor_texts_of_tree.h"

namespace trawl {

inline void add_text_of_tree(const GumboNode& node, std::string& text) {
  if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
      node.type == GUMBO_NODE_CDATA) {
    text += without_white_space(node.v.text.text);
    return;
  }
  // A template has a type of its own.
  if (node.type != GUMBO_NODE_ELEMENT) return;
  switch (node.v.element.tag) {
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_TEXTAREA:
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_NOFRAMES:
    case GUMBO_TAG_NOEMBED:
    case GUMBO_TAG_XMP:
      return;
    case GUMBO_TAG_TITLE:  // a description of SVG is text
      if (node.v.element.tag_namespace == GUMBO_NAMESPACE_HTML) return;
      break;
    default:
      break;
  }
  for (unsigned i = 0; i < node.v.element.children.length; ++i)
    add_text_of_tree(*static_cast<const GumboNode*>(node.v.element.children.data[i]), text);
}

// Of the body, without white space, since the tree does not show where it is visible. `html` is
// UTF-8.
inline std::string page_text_of_tree(std::string_view html) {
  GumboOutput* output = gumbo_parse_with_options(&kGumboDefaultOptions, html.data(), html.size());
  std::string text;
  add_text_of_tree(*output->root, text);
  gumbo_destroy_output(&kGumboDefaultOptions, output);
  return text;
}

}  // namespace trawl
