// RedisCommand: a command with its arguments, encoded, and where it goes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// A Lua script, and the SHA-1 of its text in hexadecimal.
struct RedisScript {
  explicit RedisScript(std::string_view text);
  std::string text;
  std::string sha1;
};

class RedisCommand {
 public:
  // `key` decides which node it goes to, and is not an argument.
  RedisCommand(std::string_view name, std::string_view key);
  // A call of a script with its keys, of which there is at least one, all in one slot. Arguments
  // follow. `script` must outlive the command. A node that does not know the script is sent its
  // text.
  RedisCommand(const RedisScript& script, std::span<const std::string> keys);

  RedisCommand& arg(std::string_view value);
  template <std::integral T>
  RedisCommand& arg(T value) {
    return arg(std::string_view(std::to_string(value)));
  }

  // For commands that must not be executed twice: without an answer it is not sent again.
  RedisCommand& once() {
    repeatable_ = false;
    return *this;
  }
  bool repeatable() const noexcept { return repeatable_; }
  std::uint16_t slot() const noexcept { return slot_; }
  const std::string& key() const noexcept { return key_; }
  // Of a script; others have none. They are decoded: for the text of an error.
  std::vector<std::string> keys() const;

  // Appends it as bytes; `with_text`: a script as its text instead of its SHA-1.
  void encode(std::string& out, bool with_text) const;
  std::size_t bytes() const noexcept { return arguments_.size(); }

 private:
  std::string name_;
  const RedisScript* script_ = nullptr;
  std::string key_;
  std::size_t key_count_ = 0;  // of a script, the first arguments
  std::uint16_t slot_;
  bool repeatable_ = true;
  std::size_t count_ = 0;
  std::string arguments_;  // encoded
};

// Appends `value` as an argument of a command.
void append_argument(std::string& out, std::string_view value);
// The slot of a key: CRC16 (XMODEM) of the part between the first "{" and the next "}", if there is
// something between them, else of all of it; modulo 16384. Source: the Redis Cluster specification.
std::uint16_t hash_slot(std::string_view key) noexcept;

}  // namespace trawl
