// Reading the text files of blocklists.
#pragma once

#include <functional>
#include <string_view>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

// Calls `take` with what each line blocks: the canonical key of a URL, or a host name as
// politeness_group() spells it, which stands for its subdomains, too. One that has "." or "*."
// before it and is a public suffix comes once more with a dot in front. A line is a URL; a host,
// with ":port" if it is to be on that port alone, with "." or "*." before it or not; or one of a
// hosts file, an address and then names, of which those without a dot and those that are addresses
// (localhost and its like) are left out. Empty lines, and what follows a '#' at the beginning or
// behind a space, are comments. URLs that are neither http nor https block nothing. Memory is that
// of the longest line, which may have 64 KiB.
//
// Errors: kInvalidArgument as "file:line: what is wrong with it", a line for each of the first 100
// that are wrong, and how many more there are; kIo.
Result<void> read_blocklist_lines(const InputFile& file, const Canonicalizer& canonicalizer,
                                  const std::function<void(std::string_view)>& take);

}  // namespace trawl
