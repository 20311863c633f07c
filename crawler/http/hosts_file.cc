#include "crawler/http/hosts_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

#include "frontier/percent_encoding.h"
#include "frontier/registrable_domain.h"

namespace trawl {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& byte : out)
    byte = ascii_lower(byte);
  return out;
}

}  // namespace

const std::vector<std::string>* HostsFile::find(const std::string& host,
                                                std::chrono::steady_clock::time_point now) {
  if (path_.empty()) return nullptr;
  if (now >= next_look_) {
    read_if_changed();
    next_look_ = now + std::chrono::seconds(1);
  }
  const auto found = addresses_.find(host);
  return found == addresses_.end() ? nullptr : &found->second;
}

void HostsFile::read_if_changed() {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(path_, error);
  if (!error && changed == changed_) return;
  changed_ = error ? std::filesystem::file_time_type{} : changed;
  addresses_.clear();
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.size(), line.find('#')));
    std::istringstream words(line);
    std::string address;
    words >> address;
    for (std::string name; words >> name;)
      addresses_[lower(without_trailing_dot(name))].push_back(address);
  }
}

}  // namespace trawl
