// saved_report(): what the status page of a crawl shows, running or not, for report_page().
#pragma once

#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// JSON with the answers of the API by their names: "status", "history", "hosts", "errors". A
// running crawl is asked; of another the state directory is read. Errors: those of reading it.
Result<std::string> saved_report(const std::filesystem::path& state_dir);

}  // namespace trawl
