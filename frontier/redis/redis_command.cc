#include "frontier/redis/redis_command.h"

#include <array>
#include <cassert>
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

void append_argument(std::string& out, std::string_view value) {
  fmt::format_to(std::back_inserter(out), "${}\r\n", value.size());
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
  for (const char c : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 0x8000) != 0 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1 & 0xffff;
  }
  return static_cast<std::uint16_t>(crc & 16383);
}

RedisCommand::RedisCommand(std::string_view name, std::string_view key)
    : name_(name), key_(key), slot_(hash_slot(key)) {}

RedisCommand::RedisCommand(const RedisScript& script, std::span<const std::string> keys)
    : script_(&script),
      key_(keys.front()),
      keys_(keys.begin(), keys.end()),
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

void RedisCommand::encode(std::string& out, bool with_text) const {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", count_ + (script_ != nullptr ? 2 : 1));
  if (script_ == nullptr) {
    append_argument(out, name_);
  } else {
    append_argument(out, with_text ? "EVAL" : "EVALSHA");
    append_argument(out, with_text ? script_->text : script_->sha1);
  }
  out.append(arguments_);
}

}  // namespace trawl
