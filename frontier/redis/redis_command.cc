#include "frontier/redis/redis_command.h"

#include <array>
#include <cassert>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <openssl/sha.h>

namespace trawl {

RedisScript::RedisScript(std::string_view script) : text(script) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  for (const unsigned char byte : digest)
    fmt::format_to(std::back_inserter(sha1), "{:02x}", byte);
}

namespace {

// CRC16 (XMODEM) of each byte: the polynomial is 0x1021, nothing is reflected.
constexpr std::array<std::uint16_t, 256> kCrcOfByte = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 0x8000) != 0 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1 & 0xffff;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

// A length as the protocol has it: "$12\r\n".
void append_length(std::string& out, char kind, std::size_t length) {
  std::array<char, 24> text;
  text[0] = kind;
  char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, length).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text.data(), end);
}

// Takes the first one off `arguments`, which append_argument() wrote.
std::string_view take_argument(std::string_view& arguments) {
  const std::size_t end = arguments.find('\r');
  std::size_t length = 0;
  std::from_chars(arguments.data() + 1, arguments.data() + end, length);
  const std::string_view value = arguments.substr(end + 2, length);
  arguments.remove_prefix(end + 2 + length + 2);
  return value;
}

}  // namespace

void append_argument(std::string& out, std::string_view value) {
  append_length(out, '$', value.size());
  out.append(value);
  out.append("\r\n");
}

std::uint16_t hash_slot(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key)
    crc = (crc << 8 & 0xffff) ^ kCrcOfByte[crc >> 8 ^ static_cast<unsigned char>(c)];
  return static_cast<std::uint16_t>(crc & 16383);
}

RedisCommand::RedisCommand(std::string_view name, std::string_view key)
    : name_(name), key_(key), slot_(hash_slot(key)) {}

RedisCommand::RedisCommand(const RedisScript& script, std::span<const std::string> keys)
    : script_(&script),
      key_(keys.front()),
      key_count_(keys.size()),
      slot_(hash_slot(keys.front())) {
  arg(keys.size());
  for (const std::string& key : keys) {
    assert(hash_slot(key) == slot_);
    arg(key);
  }
}

RedisCommand& RedisCommand::arg(std::string_view value) {
  append_argument(arguments_, value);
  ++count_;
  return *this;
}

std::vector<std::string> RedisCommand::keys() const {
  std::vector<std::string> keys;
  if (key_count_ == 0) return keys;
  std::string_view rest = arguments_;
  take_argument(rest);  // how many there are
  while (keys.size() < key_count_)
    keys.emplace_back(take_argument(rest));
  return keys;
}

void RedisCommand::encode(std::string& out, bool with_text) const {
  append_length(out, '*', count_ + (script_ != nullptr ? 2 : 1));
  if (script_ == nullptr) {
    append_argument(out, name_);
  } else {
    append_argument(out, with_text ? "EVAL" : "EVALSHA");
    append_argument(out, with_text ? script_->text : script_->sha1);
  }
  out.append(arguments_);
}

}  // namespace trawl
