// HostsFile: the names and addresses of /etc/hosts.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "crawler/http/file_watch.h"

namespace trawl {

// Read when it is first needed and when it has changed, which is looked for once a second at most.
// A file that cannot be read has no names.
class HostsFile {
 public:
  explicit HostsFile(const std::filesystem::path& path) : watch_(path) {}

  // The addresses as text; null if the file does not know `host` (in lower case, no trailing dot).
  const std::vector<std::string>* find(const std::string& host,
                                       std::chrono::steady_clock::time_point now);

 private:
  void read();

  FileWatch watch_;
  std::unordered_map<std::string, std::vector<std::string>> addresses_;
};

}  // namespace trawl
