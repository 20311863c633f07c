// What `trawl normalize` prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/canonical_profile.h"
#include "trawl/result.h"

namespace trawl::cli {

// Text for standard output, written when there is much of it and when told to; what is unsafe for a
// terminal is escaped as in JSON, but for tabs and line ends.
class BufferedOutput {
 public:
  BufferedOutput& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  BufferedOutput& operator<<(char byte) {
    text_ += byte;
    return *this;
  }
  BufferedOutput& operator<<(std::uint64_t number);

  // Appends a JSON string. `text` is ASCII, as all parts of a URL are.
  BufferedOutput& json_string(std::string_view text);
  // The rules' names with `separator` between them.
  BufferedOutput& names(RuleSet rules, std::string_view separator);

  // Writes what there is, or only if there is much of it. Errors: those of the system.
  Result<void> flush();
  Result<void> flush_if_full();

 private:
  std::string text_;
};

}  // namespace trawl::cli
