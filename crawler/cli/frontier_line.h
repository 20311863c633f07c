// The lines of `trawl frontier dump` and `load`: a URL as a JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/frontier_dump.h"
#include "trawl/result.h"

namespace trawl::cli {

// Appends the line of a URL, with its end.
void append_frontier_line(const DumpedUrl& url, std::string& out);

// What a line says that a frontier can be told.
struct FrontierLine {
  std::string url;  // Url::href_without_fragment()
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::optional<SystemTime> not_before;
  std::string note;        // bytes
  bool set_aside = false;  // it was held, or had failed
};

// Reads a line as it was dumped, or one made by hand with "url" and whatever else; the error says
// what is wrong with it. Needs little more memory than the line, whatever is in it.
tl::expected<FrontierLine, std::string> parse_frontier_line(std::string_view text);

}  // namespace trawl::cli
