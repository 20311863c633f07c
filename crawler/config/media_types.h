// MediaTypes: a list of content types as a config names them: "text/html", "image/*".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// Immutable; for any number of threads.
class MediaTypes {
 public:
  MediaTypes() = default;
  // Entries that are no pattern are left out.
  explicit MediaTypes(std::span<const std::string> patterns);

  bool empty() const { return patterns_.empty(); }
  // `content_type` is the value of a header: parameters ("; charset=...") and letter case do not
  // count. False for an empty list.
  bool matches(std::string_view content_type) const;

  // "type/subtype", "type/*" or "*/*".
  static bool is_pattern(std::string_view text);

 private:
  std::vector<std::string> patterns_;  // lower case; those with a * without it: "image/", ""
};

}  // namespace trawl
