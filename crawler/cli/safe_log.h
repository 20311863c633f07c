// safe_log_formatter: the format of log messages.
#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace trawl::cli {

// spdlog's default format, with characters that are unsafe for a terminal escaped, so that each
// message is one line.
std::unique_ptr<spdlog::formatter> safe_log_formatter();

}  // namespace trawl::cli
