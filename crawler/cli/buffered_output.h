// BufferedOutput: standard output of `trawl normalize`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/canonical_profile.h"
#include "trawl/result.h"

namespace trawl::cli {

// Buffers text for standard output. Characters that are unsafe for a terminal, except tabs and line
// ends, are escaped as in JSON.
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

  // Appends a JSON string. `text` must be ASCII, as all parts of a URL are.
  BufferedOutput& json_string(std::string_view text);
  // Appends the rules' names, separated by `separator`.
  BufferedOutput& names(RuleSet rules, std::string_view separator);

  // flush() writes the buffer, flush_if_full() only if it is large. Errors: those of the system.
  Result<void> flush();
  Result<void> flush_if_full();

 private:
  std::string text_;
};

}  // namespace trawl::cli
