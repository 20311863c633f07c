// RedisReply: a reply of a Redis server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

struct RedisReply {
  enum class Kind : std::uint8_t { kNil, kString, kStatus, kError, kInteger, kArray };

  Kind kind = Kind::kNil;
  std::int64_t integer = 0;
  std::string text;  // of kString, kStatus and kError
  std::vector<RedisReply> elements;

  bool is_nil() const noexcept { return kind == Kind::kNil; }
  bool is_error() const noexcept { return kind == Kind::kError; }
  // Whether it is an error with this code, the first word of its text: "MOVED".
  bool is_error(std::string_view code) const noexcept {
    return is_error() && std::string_view(text).substr(0, text.find(' ')) == code;
  }
  bool is_text() const noexcept { return kind == Kind::kString || kind == Kind::kStatus; }
  bool is_integer() const noexcept { return kind == Kind::kInteger; }
  bool is_array() const noexcept { return kind == Kind::kArray; }
};

}  // namespace trawl
