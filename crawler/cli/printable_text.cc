#include "crawler/cli/printable_text.h"

#include "crawler/parse/encoding/valid_utf8.h"
#include "crawler/safe_text.h"

namespace trawl::cli {

std::string printable(std::string_view text) {
  std::string buffer;
  return replace_unsafe(replace_invalid_utf8(text, buffer));
}

}  // namespace trawl::cli
