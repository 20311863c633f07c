// ReplyWriter: appends replies of Redis' protocol, version 2 or 3.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace trawl::resp {

class ReplyWriter {
 public:
  ReplyWriter(std::string& out, int version) : out_(&out), version_(version) {}

  int version() const noexcept { return version_; }
  void simple(std::string_view text) { line('+', text); }
  // `text` begins with a code: "ERR ...". Line ends in it become spaces.
  void error(std::string_view text) {
    const std::size_t begin = out_->size() + 1;
    line('-', text);
    for (std::size_t i = begin; i + 2 < out_->size(); ++i)
      if ((*out_)[i] == '\r' || (*out_)[i] == '\n') (*out_)[i] = ' ';
  }
  void integer(std::int64_t value) { number(':', value); }
  void integer(std::uint64_t value) { number(':', static_cast<std::int64_t>(value)); }
  // An integer in version 2.
  void boolean(bool value) {
    out_->append(version_ == 3 ? (value ? "#t\r\n" : "#f\r\n") : (value ? ":1\r\n" : ":0\r\n"), 4);
  }
  void booleans(std::span<const bool> values) {
    const std::size_t before = out_->size();
    out_->resize(before + 4 * values.size());
    char* at = out_->data() + before;
    for (const bool value : values) {
      const char* const text =
          version_ == 3 ? (value ? "#t\r\n" : "#f\r\n") : (value ? ":1\r\n" : ":0\r\n");
      std::memcpy(at, text, 4);
      at += 4;
    }
  }
  void bulk(std::string_view text) {
    number('$', static_cast<std::int64_t>(text.size()));
    out_->append(text).append("\r\n");
  }
  void null() { out_->append(version_ == 3 ? "_\r\n" : "$-1\r\n"); }
  void array(std::size_t elements) { number('*', static_cast<std::int64_t>(elements)); }
  // `pairs` keys, each followed by its value: an array in version 2.
  void map(std::size_t pairs) {
    number(version_ == 3 ? '%' : '*', static_cast<std::int64_t>(version_ == 3 ? pairs : 2 * pairs));
  }
  // Text for people: version 3 says so.
  void verbatim(std::string_view text) {
    if (version_ != 3) return bulk(text);
    number('=', static_cast<std::int64_t>(text.size() + 4));
    out_->append("txt:").append(text).append("\r\n");
  }

 private:
  void line(char type, std::string_view text) {
    *out_ += type;
    out_->append(text).append("\r\n");
  }
  void number(char type, std::int64_t value) {
    char digits[24];
    digits[0] = type;
    char* const end = std::to_chars(digits + 1, digits + sizeof digits, value).ptr;
    out_->append(digits, end).append("\r\n");
  }

  std::string* out_;
  int version_;
};

}  // namespace trawl::resp
