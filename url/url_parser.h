// UrlParser: one run of the WHATWG basic URL parser over an http(s) reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// The standard describes a state machine over single code points. For http and https alone it
// comes down to cutting the input at its delimiters, front to back, and writing each piece to the
// end of the new href. Each function consumes its piece from `rest_`; those that can fail return
// nullptr or what is wrong.
class UrlParser {
 public:
  // Parses any input; `base` may be null. What Url::parse() does, without its fast path.
  static Result<Url> parse_fully(std::string_view input, const Url* base) {
    return UrlParser(input, base).parse();
  }

 private:
  UrlParser(std::string_view input, const Url* base)
      : input_(input), base_(base != nullptr && !base->href_.empty() ? base : nullptr) {}

  Result<Url> parse();
  void strip_input();
  // The scheme `rest_` starts with, in any case, without its ':'; empty if there is none.
  std::string_view leading_scheme() const;

  const char* parse_reference();
  const char* parse_relative();
  const char* parse_authority();
  void parse_userinfo(std::string_view userinfo);
  const char* parse_host_and_port(std::string_view text);
  const char* parse_port(std::string_view digits);
  void parse_path();
  void parse_query();
  void parse_fragment();
  void parse_query_and_fragment();

  void start_with_scheme(std::string_view scheme);
  void copy_authority_of_base();
  void append_segment(std::string_view segment, bool last);
  void remove_last_segment();

  std::uint32_t position() const { return static_cast<std::uint32_t>(url_.href_.size()); }
  Error error(ErrorCode code, std::string_view what) const;

  std::string_view input_;
  const Url* base_;
  std::string stripped_;   // the input without tabs and newlines, if it had any
  std::string_view rest_;  // what is not yet parsed
  Url url_;
};

}  // namespace trawl
