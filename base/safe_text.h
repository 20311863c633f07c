// escape_unsafe: makes text from outside (URLs, headers, certificates, titles) safe for a terminal
// or a log. Everything that Trawl prints or logs passes through here.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// True for characters that a terminal may interpret or that make a text look like another: controls
// of ASCII and of Latin-1 (C1), directional marks and overrides, line and paragraph separators,
// deprecated and invisible format characters, tags.
bool is_unsafe(char32_t c) noexcept;

// `text` as one line of valid UTF-8. Unsafe characters are escaped as in JSON ("\n", "\u001b"),
// bytes that are not UTF-8 as "\xff". ASCII characters in `keep` stay.
std::string escape_unsafe(std::string_view text, std::string_view keep = "");

// True if escape_unsafe() changes nothing.
bool is_safe(std::string_view text, std::string_view keep = "") noexcept;

// The same for readable text: white space becomes a space, each other unsafe character or invalid
// byte becomes U+FFFD.
std::string replace_unsafe(std::string_view text);

}  // namespace trawl
