// escape_unsafe: what others wrote (URLs, headers, certificates, titles) made safe for a terminal
// or a log. All that Trawl prints or logs passes through here.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// True for characters that a terminal may obey, or that make text look like another: controls of
// ASCII and of Latin-1 (C1), marks and overrides of the direction of writing, separators of lines
// and paragraphs, deprecated and invisible format characters, tags.
bool is_unsafe(char32_t c) noexcept;

// `text` on one line of valid UTF-8. What is unsafe is escaped as in JSON ("\n", "\u001b"), bytes
// that are not UTF-8 as "\xff". What is in `keep`, of ASCII, stays.
std::string escape_unsafe(std::string_view text, std::string_view keep = "");

// True if escape_unsafe() changes nothing.
bool is_safe(std::string_view text, std::string_view keep = "") noexcept;

// The same for people who read it as text: white space becomes a space, each other thing that is
// unsafe or no UTF-8 U+FFFD.
std::string replace_unsafe(std::string_view text);

}  // namespace trawl
