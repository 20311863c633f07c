// MediaTypes: a list of content types of a config: "text/html", "image/*".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// Immutable, thread-safe.
class MediaTypes {
 public:
  MediaTypes() = default;
  // Ignores invalid entries.
  explicit MediaTypes(std::span<const std::string> patterns);

  bool empty() const { return patterns_.empty(); }
  // `content_type`: the value of a header; parameters ("; charset=...") and letter case are
  // ignored. False for an empty list.
  bool matches(std::string_view content_type) const;

  // "type/subtype", "type/*" or "*/*".
  static bool is_pattern(std::string_view text);

 private:
  std::vector<std::string> patterns_;  // in lower case, without a final '*': "image/", ""
};

}  // namespace trawl
