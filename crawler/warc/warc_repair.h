// repair_warc: closes a WARC file that a crash left open.
#pragma once

#include "trawl/result.h"

#include "crawler/warc/warc_files.h"
#include "crawler/warc/warc_names.h"

namespace trawl {

// Removes an incomplete record at the end, completes the index (if `cdxj`, or if there is one) and
// closes the file. Reads only what follows the last record in the index: the records before it are
// known to be complete. May be called again if it failed.
Result<WarcRepairReport> repair_warc(const WarcNames& names, bool cdxj);

}  // namespace trawl
