// SavedFileName: the folders and the file in which a page is saved, by its URL.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// As `wget -r` names files on Unix: HOST/FOLDER/FILE?QUERY, with "index.html" for an empty FILE and
// ":PORT" after the host if it is not the default; percent-encoding is decoded. Bytes that are not
// safe in a file's name stay percent-encoded: separators (also '\'), control characters, invalid
// UTF-8, "." and "..", a dot or blank at the end, and names of devices on Windows (CON, aux.txt).
//
// No name is empty, ".", "..", has a '/' or a NUL, or is longer than `longest`; all of them
// together have at most kMaxSavedPath bytes. What is longer is cut, and marked with a hash of the
// URL.
struct SavedFileName {
  std::vector<std::string> folders;  // the host first; never empty
  std::string file;

  // "host/folder/file"
  std::string path() const;
};

inline constexpr std::size_t kMaxSavedPath = 1500;
inline constexpr std::size_t kMaxSavedFolders = 64;

// `longest`: bytes of one name that the file system allows; at least 100.
SavedFileName saved_file_name(const Url& url, std::size_t longest = 255);

// "index~mark.html" for "index.html" and "mark", with at most `longest` bytes.
std::string marked_name(std::string_view name, std::string_view mark, std::size_t longest = 255);

// A part of the digest of `text`, fit for marked_name(): 16 letters and digits.
std::string name_mark(std::string_view text);

// Two names with different results are different files also on a disk that ignores the case of
// ASCII letters.
std::string name_without_case(std::string_view name);

}  // namespace trawl
