// The content model of elements: how the tokenizer reads their text.
#pragma once

#include "crawler/parse/html/element.h"
#include "crawler/parse/html/html_tokenizer.h"

namespace trawl {

// For HTML elements, with scripting disabled.
constexpr ContentModel content_model(Element element) noexcept {
  switch (element) {
    case Element::kTitle:
    case Element::kTextarea:
      return ContentModel::kRcdata;
    case Element::kStyle:
    case Element::kXmp:
    case Element::kIframe:
    case Element::kNoembed:
    case Element::kNoframes:
      return ContentModel::kRawtext;
    case Element::kScript:
      return ContentModel::kScriptData;
    case Element::kPlaintext:
      return ContentModel::kPlaintext;
    default:
      return ContentModel::kData;
  }
}

}  // namespace trawl
