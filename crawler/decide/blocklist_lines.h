// Reads text files of blocklists.
#pragma once

#include <functional>
#include <string_view>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

// Calls `take` with what each line blocks: the canonical key of a URL, or a host name in the form
// of politeness_group(), which also stands for its subdomains. A public suffix with "." or "*."
// before it is passed a second time, with a leading dot. A line is a URL; a host, optionally with
// ":port" and with "." or "*." before it; or a line of a hosts file, an address followed by names,
// of which names without a dot and addresses are ignored (localhost and similar). A '#' at the
// beginning or after a space begins a comment. URLs that are not http(s) block nothing. Memory is
// that of the longest line, at most 64 KiB. Errors: kInvalidArgument with "file:line: message" for
// each of the first 100 bad lines, and the number of further ones; kIo.
Result<void> read_blocklist_lines(const InputFile& file, const Canonicalizer& canonicalizer,
                                  const std::function<void(std::string_view)>& take);

}  // namespace trawl
