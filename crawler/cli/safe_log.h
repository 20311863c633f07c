// safe_log_formatter: how log messages look, wherever they go.
#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace trawl::cli {

// spdlog's own form, with what is unsafe for a terminal escaped: each message is one line.
std::unique_ptr<spdlog::formatter> safe_log_formatter();

}  // namespace trawl::cli
