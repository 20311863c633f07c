// Which tags end SVG and MathML, and where in them HTML begins: the HTML Standard's rules for
// parsing tokens in foreign content (https://html.spec.whatwg.org/multipage/parsing.html).
#pragma once

#include "crawler/parse/html/element.h"

namespace trawl {

// Start tags that end SVG and MathML anywhere within; <font> does too if it has one of its
// attributes.
bool leaves_foreign_content(Element element) noexcept;

// Elements of SVG or MathML in which start tags make HTML elements.
bool is_integration_point(MarkupSpace space, Element element) noexcept;

}  // namespace trawl
