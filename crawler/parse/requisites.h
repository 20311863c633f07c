// Page requisites: what a browser loads to show a page.
#pragma once

#include <string_view>

#include "trawl/links.h"

namespace trawl {

// Whether a link, as LinkExtractor or StyleSheetReader gives it, is one: by its element, attribute
// and rel, not by its URL. So are images, also those among which a browser chooses, style sheets,
// scripts, fonts, media, icons, frames, embedded objects, manifests and what is preloaded.
bool is_requisite(const Link& link);

// Whether it is, or may be, a style sheet: of a <link>, an @import in a file, or a URL in a
// <style>.
bool loads_style_sheet(const Link& link);

}  // namespace trawl
