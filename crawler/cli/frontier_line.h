// The line format of `trawl frontier dump` and `load`: a URL as a JSON object, or alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/frontier_dump.h"
#include "trawl/result.h"

namespace trawl::cli {

// Appends the line of a URL, with the line end.
void append_frontier_line(const DumpedUrl& url, std::string& out);

// What a parsed line says about a URL to queue.
struct FrontierLine {
  std::string url;  // Url::href_without_fragment()
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::optional<SystemTime> not_before;
  std::string note;        // bytes
  bool set_aside = false;  // its state is held or failed
};

// Parses a line as printed by dump, one with "url" and any other keys of the format, or a URL
// alone. The error says what is wrong. Needs little more memory than the line itself, for any
// input.
tl::expected<FrontierLine, std::string> parse_frontier_line(std::string_view text);

}  // namespace trawl::cli
