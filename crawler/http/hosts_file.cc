#include "crawler/http/hosts_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "url/percent_encoding.h"
#include "url/registrable_domain.h"

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
  if (watch_.path().empty()) return nullptr;
  if (watch_.changed(now)) read();
  const auto found = addresses_.find(host);
  return found == addresses_.end() ? nullptr : &found->second;
}

void HostsFile::read() {
  addresses_.clear();
  std::ifstream file(watch_.path());
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
