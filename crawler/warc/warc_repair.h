// repair_warc: closes a WARC file that a crash left open.
#pragma once

#include "trawl/result.h"

#include "crawler/warc/warc_files.h"
#include "crawler/warc/warc_names.h"

namespace trawl {

// Cuts off what is not a whole record, completes the index (if `cdxj`, or if there is one) and
// closes the file. The index, as far as it was written, tells how much of the file is known to be
// whole: no more than what follows is read. May be called again if it failed.
Result<WarcRepair> repair_warc(const WarcNames& names, bool cdxj);

}  // namespace trawl
