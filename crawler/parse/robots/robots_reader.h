// RobotsReader: reads a robots.txt line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trawl/robots.h"

#include "crawler/parse/robots/robots_file.h"

namespace trawl {

// Sitemap and unknown lines may be anywhere; a User-agent line after a rule begins the next group.
class RobotsReader {
 public:
  RobotsReader(RobotsFile& file, RobotsOptions options) : file_(file), options_(options) {}

  void read(std::string_view bytes);

 private:
  void read_lines();
  void read_line(std::string_view line);
  void read_agent(std::string_view value);
  void read_rule(std::string_view line, std::string_view value, bool allow);
  void read_delay(std::string_view value);
  void read_sitemap(std::string_view value);
  RobotsSpan span_of(std::string_view part) const;

  RobotsFile& file_;
  const RobotsOptions options_;
  std::uint32_t line_number_ = 0;
  bool naming_agents_ = false;  // the last line of a group so far was a User-agent line
};

}  // namespace trawl
