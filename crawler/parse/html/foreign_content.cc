#include "crawler/parse/html/foreign_content.h"

namespace trawl {

bool leaves_foreign_content(Element element) noexcept {
  switch (element) {
    case Element::kB:
    case Element::kBig:
    case Element::kBlockquote:
    case Element::kBody:
    case Element::kBr:
    case Element::kCenter:
    case Element::kCode:
    case Element::kDd:
    case Element::kDiv:
    case Element::kDl:
    case Element::kDt:
    case Element::kEm:
    case Element::kEmbed:
    case Element::kH1:
    case Element::kH2:
    case Element::kH3:
    case Element::kH4:
    case Element::kH5:
    case Element::kH6:
    case Element::kHead:
    case Element::kHr:
    case Element::kI:
    case Element::kImg:
    case Element::kLi:
    case Element::kListing:
    case Element::kMenu:
    case Element::kMeta:
    case Element::kNobr:
    case Element::kOl:
    case Element::kP:
    case Element::kPre:
    case Element::kRuby:
    case Element::kS:
    case Element::kSmall:
    case Element::kSpan:
    case Element::kStrong:
    case Element::kStrike:
    case Element::kSub:
    case Element::kSup:
    case Element::kTable:
    case Element::kTt:
    case Element::kU:
    case Element::kUl:
    case Element::kVar:
      return true;
    default:
      return false;
  }
}

bool is_integration_point(MarkupSpace space, Element element) noexcept {
  switch (element) {
    case Element::kForeignObject:
    case Element::kDesc:
    case Element::kTitle:
      return space == MarkupSpace::kSvg;
    case Element::kAnnotationXml:
    case Element::kMi:
    case Element::kMo:
    case Element::kMn:
    case Element::kMs:
    case Element::kMtext:
      return space == MarkupSpace::kMathMl;
    default:
      return false;
  }
}

}  // namespace trawl
