#include "crawler/http/request_head.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

namespace trawl {

std::string http1_request_head(std::string_view head) {
  std::string lines;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (line.empty() || starts_with_in_any_case(line, "proxy-authorization:")) continue;
    if (lines.empty() && line.ends_with(" HTTP/2")) {
      lines.append(line.substr(0, line.size() - 1)).append("1.1\r\n");
    } else {
      lines.append(line).append("\r\n");
    }
  }
  return lines;
}

}  // namespace trawl
