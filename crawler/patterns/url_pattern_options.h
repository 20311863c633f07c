// How patterns of URLs are compiled.
#pragma once

#include <re2/re2.h>

namespace trawl {

inline re2::RE2::Options url_pattern_options() {
  // URLs are ASCII, and what is not must not match by half.
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  // Of one pattern, most of it made as URLs ask for it; what RE2 takes more for it refuses. There
  // may be thousands of patterns.
  options.set_max_mem(512 << 10);
  return options;
}

}  // namespace trawl
