#include "crawler/output/saved_file_name.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/ascii.h"
#include "base/safe_text.h"
#include "base/utf8.h"
#include "crawler/warc/sha1.h"

namespace trawl {

namespace {

constexpr std::string_view kIndexName = "index.html";
constexpr std::size_t kMarkSize = 16;
constexpr std::size_t kLongestExtension = 16;

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

void append_escaped(std::string& out, std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

// Escapes one byte of a name where it stands.
void escape_at(std::string& name, std::size_t position) {
  std::string escaped;
  append_escaped(escaped, std::string_view(name).substr(position, 1));
  name.replace(position, 1, escaped);
}

// Windows takes a name for a device whatever follows the first dot.
bool is_device_name(std::string_view name) {
  std::string_view stem = name.substr(0, name.find_first_of(".:?"));
  while (stem.ends_with(' '))
    stem.remove_suffix(1);
  for (const std::string_view device :
       {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}) {
    if (equal_in_any_case(stem, device)) return true;
  }
  if (stem.size() < 4) return false;
  const std::string_view port = stem.substr(0, 3);
  if (!equal_in_any_case(port, "com") && !equal_in_any_case(port, "lpt")) return false;
  const std::string_view number = stem.substr(3);
  if (number.size() == 1) return number[0] >= '0' && number[0] <= '9';
  return number == "\xC2\xB9" || number == "\xC2\xB2" || number == "\xC2\xB3";  // superscripts
}

// `raw`: a part of a URL.
std::string escaped_name(std::string_view raw) {
  const std::string bytes = percent_decoded(raw);
  std::string name;
  name.reserve(bytes.size());
  for (std::string_view rest = bytes; !rest.empty();) {
    const Utf8Sequence character = utf8_sequence_at(rest);
    const std::string_view text = rest.substr(0, character.length);
    const bool unsafe = !character.valid || character.code < ' ' || character.code == 0x7F ||
                        character.code == '/' || character.code == '\\' ||
                        is_unsafe(character.code);
    if (unsafe) {
      append_escaped(name, text);
    } else {
      name += text;
    }
    rest.remove_prefix(character.length);
  }
  return name;
}

// For the whole of a name, not for a part of it.
std::string finished_name(std::string name) {
  if (name == ".." || name == ".") {
    std::string dots;
    append_escaped(dots, name);
    return dots;
  }
  if (is_device_name(name)) escape_at(name, 0);
  if (name.ends_with('.') || name.ends_with(' ')) escape_at(name, name.size() - 1);
  return name;
}

// The extension with its dot; empty if what follows the last dot is none.
std::string_view extension_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > kLongestExtension) return {};
  const std::string_view extension = name.substr(dot);
  const bool plain =
      extension.size() > 1 && std::ranges::all_of(extension.substr(1), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
  return plain ? extension : std::string_view();
}

std::string fitted(std::string name, std::string_view mark, std::size_t longest) {
  return name.size() <= longest ? std::move(name) : marked_name(name, mark, longest);
}

std::string folder_of_host(const Url& url) {
  std::string host = escaped_name(url.host());
  if (host.starts_with('.')) escape_at(host, 0);
  return host.empty() ? "-" : finished_name(std::move(host));
}

}  // namespace

std::string SavedFileName::path() const {
  std::string path;
  for (const std::string& folder : folders)
    path.append(folder).append(1, '/');
  return path + file;
}

SavedFileName saved_file_name(const Url& url, std::size_t longest) {
  assert(longest >= 100);
  const std::string mark = name_mark(url.href_without_fragment());
  SavedFileName name;
  name.folders.push_back(fitted(folder_of_host(url), mark, longest));
  std::size_t size = name.folders.back().size();
  bool cut = false;
  std::string_view rest = url.path();
  for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
       slash = rest.find('/')) {
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
    if (part.empty() || cut) continue;
    // All pages of a folder with a long name go to one folder.
    std::string folder = finished_name(escaped_name(part));
    folder = fitted(std::move(folder), name_mark(part), longest);
    cut = size + folder.size() + 1 + longest > kMaxSavedPath ||
          name.folders.size() == kMaxSavedFolders;
    if (cut) continue;
    size += folder.size() + 1;
    name.folders.push_back(std::move(folder));
  }
  name.file = rest.empty() ? std::string(kIndexName) : escaped_name(rest);
  const bool has_query = !url.query().empty() || url.href_without_fragment().ends_with('?');
  if (has_query) name.file.append(1, '?').append(escaped_name(url.query()));
  name.file = fitted(finished_name(std::move(name.file)), mark, longest);
  if (cut) name.file = marked_name(name.file, mark, longest);
  return name;
}

std::string marked_name(std::string_view name, std::string_view mark, std::size_t longest) {
  const std::string_view extension = extension_of(name);
  const std::string_view stem = name.substr(0, name.size() - extension.size());
  const std::size_t added = 1 + mark.size() + extension.size();
  assert(added < longest);
  std::string marked(cut_utf8(stem, longest - added));
  return marked.append(1, '~').append(mark).append(extension);
}

std::string name_mark(std::string_view text) {
  std::string digest = sha1_digest(text).substr(5, kMarkSize);
  std::ranges::transform(digest, digest.begin(), [](char c) { return ascii_lower(c); });
  return digest;
}

std::string name_without_case(std::string_view name) {
  return to_lower(name);
}

}  // namespace trawl
