// UrlFastPath: URLs and references whose bytes are what parsing would make of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "trawl/url.h"

#include "url/url_sketch.h"

namespace trawl {

// Nearly all links are written the way they would be serialised: an http(s) scheme in lower case,
// a host name in lower-case ASCII, nothing to escape, decode or strip, dot segments at the front of
// a relative path at most. Finding that out takes a look at 64 bytes at a time, and the URL is then
// a copy of its pieces. It may say no to any URL, and says no to all that are in error.
class UrlFastPath {
 public:
  // Parses `input` (relative to `base`, if not null) into `out`, whose buffer is reused, and
  // returns true; or leaves `out` as it is and returns false: UrlParser must decide. `out` must be
  // another Url than `base`, and `input` no view into it.
  static bool parse(std::string_view input, const Url* base, Url& out);

  // parse() for one kind of processor, and how that sketches. All do the same, but `parse` takes
  // inputs of up to kMaxLength bytes only.
  struct Implementation {
    std::string_view name;
    bool (*parse)(std::string_view input, const Url* base, Url& out);
    UrlSketch (*sketch)(const char* start, std::size_t length);
  };
  // Those that run here, the fastest last: it is the one that parse() uses.
  static std::span<const Implementation> implementations();

  // Longer ones have no hurry, and offsets stay far from the limit of their 32 bits.
  static constexpr std::size_t kMaxLength = std::size_t{1} << 24;

 private:
  static bool parse_on_any(std::string_view input, const Url* base, Url& out);
#if defined(__x86_64__)
  static bool parse_on_sse2(std::string_view input, const Url* base, Url& out);
  static bool parse_on_avx2(std::string_view input, const Url* base, Url& out);
  static bool parse_on_avx512(std::string_view input, const Url* base, Url& out);
  // The first call's, so that static initialisers of other files may parse URLs too: finds out what
  // the processor has.
  static bool choose_and_parse(std::string_view input, const Url* base, Url& out);
  static std::atomic<bool (*)(std::string_view, const Url*, Url&)> chosen_parse;
#endif

  // `sketch` is that of the first 64 bytes of `input`. Inlined into each parse_on_...(), for
  // which it is made in different ways.
  template <class Processor>
  [[gnu::always_inline]] static bool parse_sketched(std::string_view input, const Url* base,
                                                    const UrlSketch& sketch, Url& out);
  // The host is at `host_start`; 2 if `scheme` is the base's and not in the input.
  template <class Processor>
  [[gnu::always_inline]] static bool parse_authority(std::string_view scheme,
                                                     std::string_view input, std::size_t host_start,
                                                     const UrlSketch& sketch, Url& out);
  template <class Processor>
  [[gnu::always_inline]] static bool parse_relative(std::string_view input, const Url& base,
                                                    const UrlSketch& sketch, Url& out);
};

}  // namespace trawl
