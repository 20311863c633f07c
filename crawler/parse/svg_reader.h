// Reads documents of SVG, which are XML: browsers show them in frames and objects, and alone.
#pragma once

#include <string_view>

#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/reference_collector.h"

namespace trawl {

// Reports the elements of SVG and of HTML in `text` to `collector`, which fills `page`, and
// <?xml-stylesheet?> as a <link rel=stylesheet>. Goes on after errors. Entities are not expanded.
// `text` is valid UTF-8. Takes linear time.
void read_svg(std::string_view text, ReferenceCollector& collector, PageReferences& page);

// Only what comes before the first element; of any XML.
void read_xml_prolog(std::string_view text, ReferenceCollector& collector, PageReferences& page);

}  // namespace trawl
