// HostsFile: the names and addresses of /etc/hosts.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "crawler/http/file_watch.h"

namespace trawl {

// Read when first needed, and again when it has changed, which is checked at most once a second. An
// unreadable file has no names.
class HostsFile {
 public:
  explicit HostsFile(const std::filesystem::path& path) : watch_(path) {}

  // Addresses as text; null if `host` (in lower case, without a trailing dot) is not in the file.
  const std::vector<std::string>* find(const std::string& host,
                                       std::chrono::steady_clock::time_point now);

 private:
  void read();

  FileWatch watch_;
  std::unordered_map<std::string, std::vector<std::string>> addresses_;
};

}  // namespace trawl
