#include "crawler/cli/printable_text.h"

#include "base/safe_text.h"

namespace trawl::cli {

std::string printable(std::string_view text) {
  return replace_unsafe(text);
}

}  // namespace trawl::cli
