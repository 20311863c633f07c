#include "frontier/shared/node_info.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/redis_values.h"

namespace trawl {

NodeInfo::NodeInfo(const RedisAddress& node, std::string_view text) : node_(node) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
      values_.emplace(line.substr(0, colon), line.substr(colon + 1));
    text.remove_prefix(std::min(text.size(), end + 2));
  }
}

std::string NodeInfo::node() const {
  return "the Redis node " + node_.text();
}

std::optional<std::string> NodeInfo::operator[](std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> NodeInfo::check_version() const {
  const NodeInfo& info = *this;
  const std::string version = info["redis_version"].value_or("");
  const std::size_t dot = version.find('.');
  const auto major = number_in(std::string_view(version).substr(0, dot));
  const std::string_view rest =
      dot == std::string::npos ? "" : std::string_view(version).substr(dot + 1);
  const auto minor = number_in(rest.substr(0, rest.find('.')));
  if (!major || !minor) {
    return fmt::format("{} does not say its version, so it could not be checked: INFO has none",
                       node());
  }
  if (info["kvrocks_version"])  // which gives the version of its protocol
    return node() + " is Kvrocks, with which Trawl has not been tested";
  if (std::pair(*major, *minor) < std::pair<std::uint64_t, std::uint64_t>(6, 2)) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("{} is version {}; Trawl needs 6.2 or later on every node", node(), version));
  }
  return std::string();
}

}  // namespace trawl
