// UrlFastPath: parses URLs and references that parsing would leave unchanged.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "trawl/url.h"

#include "url/url_byte_masks.h"

namespace trawl {

// Nearly all links are already in serialised form: an http(s) scheme in lower case, a host name in
// lower-case ASCII, nothing to escape, decode or strip, and dot segments only at the front of a
// relative path. Checking this takes one test for each 64 bytes; the URL is then a copy of its
// pieces. The fast path may reject any URL, and rejects all invalid ones.
class UrlFastPath {
 public:
  // Parses `input` (relative to `base`, if not null) into `out`, reusing its buffer, and returns
  // true; or leaves `out` unchanged and returns false: then UrlParser must decide. `out` must not
  // be `base`, nor `input` a view into `out`.
  static bool parse(std::string_view input, const Url* base, Url& out);

  // parse() and the masks function for one kind of processor. All give the same results; `parse`
  // accepts only inputs of up to kMaxLength bytes.
  struct Implementation {
    std::string_view name;
    bool (*parse)(std::string_view input, const Url* base, Url& out);
    UrlByteMasks (*masks)(const char* start, std::size_t length);
  };
  // The implementations that run on this processor; parse() uses the last, the fastest.
  static std::span<const Implementation> implementations();

  // Longer inputs are rare, and offsets stay far below 32 bits.
  static constexpr std::size_t kMaxLength = std::size_t{1} << 24;

 private:
  static bool parse_on_any(std::string_view input, const Url* base, Url& out);
#if defined(__x86_64__)
  static bool parse_on_sse2(std::string_view input, const Url* base, Url& out);
  static bool parse_on_avx2(std::string_view input, const Url* base, Url& out);
  static bool parse_on_avx512(std::string_view input, const Url* base, Url& out);
  // Used by the first call, so that static initialisers of other files can parse URLs too: detects
  // the processor.
  static bool choose_and_parse(std::string_view input, const Url* base, Url& out);
  static std::atomic<bool (*)(std::string_view, const Url*, Url&)> chosen_parse;
#endif

  // `masks` is the masks of the first 64 bytes of `input`. Inlined into each parse_on_...(),
  // which compute it in different ways.
  template <class Processor>
  [[gnu::always_inline]] static bool parse_by_masks(std::string_view input, const Url* base,
                                                    const UrlByteMasks& masks, Url& out);
  // The host is at `host_start`, which is 2 if the scheme is the base's and not in the input.
  template <class Processor>
  [[gnu::always_inline]] static bool parse_authority(std::string_view scheme,
                                                     std::string_view input, std::size_t host_start,
                                                     const UrlByteMasks& masks, Url& out);
  template <class Processor>
  [[gnu::always_inline]] static bool parse_relative(std::string_view input, const Url& base,
                                                    const UrlByteMasks& masks, Url& out);
};

}  // namespace trawl
