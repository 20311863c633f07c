// Reads URLs as people type them, and lists of URLs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl::cli {

// "https://example.com/", or a host with or without port and path, which gets the scheme https:
// "example.com/docs". A local host, an address, or a host with a port gets http: "localhost:8000".
// The error says why the text is neither.
Result<std::string> typed_url(std::string_view text);

// Whether a word can only be meant as a URL: it has the scheme http or https, or begins with a host
// that has a dot, or with localhost or an IP address. Does not look at the disk.
bool looks_like_url(std::string_view word);

// What a text that may be either holds.
enum class TextKind { kConfig, kUrls };
TextKind kind_of_text(std::string_view text);

// A line that is not a URL.
struct WrongUrlLine {
  std::size_t line = 0;  // from 1
  std::string why;
};
struct UrlLines {
  std::vector<std::string> urls;
  std::vector<WrongUrlLine> wrong;  // the first kMostWrong
  std::size_t more_wrong = 0;
};
inline constexpr std::size_t kMostWrong = 20;

// The URLs of lines: a URL or host each, a JSON string, or a JSON object with a member "url" whose
// other members are not used. Blank lines, and comments from a # at the beginning of a line or
// after a blank, are skipped.
UrlLines read_url_lines(std::string_view text);

// The name of the directory for a crawl that begins with this URL: its host, with other characters
// than letters, digits, dots, hyphens and underscores replaced by an underscore.
std::string directory_name_of(std::string_view url);

}  // namespace trawl::cli
