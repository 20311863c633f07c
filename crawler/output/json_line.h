// JsonLine: appends JSON objects, a line each, to a buffer; several million values a second.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace trawl {

// Appends any `bytes` as a JSON string. Control characters, and characters that are unsafe on a
// terminal, are escaped. Each maximal part of invalid UTF-8 becomes one U+FFFD, as in browsers.
void append_json_string(std::string& out, std::string_view bytes);

// One object. Keys are not escaped.
class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }

  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& text_or_null(std::string_view key, std::string_view value) {  // empty: null
    return value.empty() ? null(key) : text(key, value);
  }
  JsonLine& number(std::string_view key, std::uint64_t value);
  JsonLine& signed_number(std::string_view key, std::int64_t value);
  JsonLine& boolean(std::string_view key, bool value);
  JsonLine& null(std::string_view key);
  JsonLine& time(std::string_view key, std::chrono::system_clock::time_point value);
  // A nested object: until end_object() the calls add to it.
  JsonLine& begin_object(std::string_view key);
  JsonLine& end_object();
  // An array of strings: until end_array() all calls are of item().
  JsonLine& begin_array(std::string_view key);
  JsonLine& item(std::string_view value);
  JsonLine& end_array();
  // Ends the object and the line.
  void end() {
    assert(!in_array_);
    out_ += "}\n";
  }

 private:
  void comma();
  void begin(std::string_view key);
  std::string& out_;
  bool in_array_ = false;
};

}  // namespace trawl
