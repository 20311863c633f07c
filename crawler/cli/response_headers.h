// add_headers: adds what a response's headers say about a page.
#pragma once

#include "trawl/links.h"

#include "crawler/cli/document_source.h"

namespace trawl::cli {

// Adds links and directives of the headers Link, Refresh and X-Robots-Tag to `page`, which was
// extracted from `document` with `options`. Links are resolved against `base` and put before the
// page's own, with element "header" and attribute "link" or "refresh", and the kind that a <link>
// with the same rel, or a <meta>, has. Directives of page and headers add up.
void add_headers(const Document& document, const Url& base, const LinkOptions& options,
                 PageLinks& page);

}  // namespace trawl::cli
