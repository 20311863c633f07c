// add_headers: what a response's headers say of a page, beside the page itself.
#pragma once

#include "trawl/links.h"

#include "crawler/cli/document_source.h"

namespace trawl::cli {

// Adds what Link, Refresh and X-Robots-Tag say to `page`, which `options` made of `document`. Links
// are relative to `base`; they come before the page's own, from attribute "link" or "refresh" of
// element "header", with the kinds that <link>s of their rel or a <meta> have; what a page forbids
// or its header does is forbidden.
void add_headers(const Document& document, const Url& base, const LinkOptions& options,
                 PageLinks& page);

}  // namespace trawl::cli
