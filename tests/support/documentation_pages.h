// The HTML pages of the Debian documentation packages that scripts/deps.sh installs for the tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace trawl {

struct DocumentationPage {
  std::string package;
  std::filesystem::path file;
  std::string bytes;
};

inline bool is_page_name(std::string_view name) {
  // Also "index.html.en", as web servers that negotiate languages have them.
  const std::size_t dot = name.rfind(".html");
  return dot != std::string_view::npos && (dot + 5 == name.size() || name[dot + 5] == '.') &&
         !name.ends_with(".gz");
}

// The files of `package` by dpkg's record; none if it is not installed.
inline std::vector<std::filesystem::path> files_of_package(const std::string& package) {
  std::vector<std::filesystem::path> files;
  const std::string command = "dpkg-query -L " + package + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return files;
  std::string listing;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe.get()))
    listing.append(buffer, got);
  for (std::size_t begin = 0; begin < listing.size();) {
    const std::size_t end = listing.find('\n', begin);
    files.emplace_back(listing.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

// Every page once, however many names it has.
inline std::vector<DocumentationPage> documentation_pages() {
  std::vector<DocumentationPage> pages;
  std::set<std::filesystem::path> seen;
  for (const char* package : {"apache2-doc", "cmake-doc", "git-doc", "libstdc++-12-doc",
                              "postgresql-doc-15", "python3.11-doc"}) {
    for (const auto& name : files_of_package(package)) {
      std::error_code error;
      const auto file = std::filesystem::canonical(name, error);
      if (error || !is_page_name(name.filename().string()) ||
          !std::filesystem::is_regular_file(file) || !seen.insert(file).second) {
        continue;
      }
      std::ifstream in(file, std::ios::binary);
      pages.push_back(
          {.package = package, .file = file, .bytes = {std::istreambuf_iterator<char>(in), {}}});
    }
  }
  return pages;
}

}  // namespace trawl
