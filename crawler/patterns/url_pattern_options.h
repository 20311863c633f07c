// RE2 options for patterns of URLs.
#pragma once

#include <re2/re2.h>

namespace trawl {

inline re2::RE2::Options url_pattern_options() {
  // URLs are ASCII; Latin-1 keeps other bytes from matching as parts of characters.
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  // The memory limit of one pattern, of which there may be thousands; RE2 uses most of it only as
  // needed, and refuses patterns that need more.
  options.set_max_mem(512 << 10);
  return options;
}

}  // namespace trawl
