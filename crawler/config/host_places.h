// HostPlaces: finds the entry of a list of hosts and domains that is for a host.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trawl/result.h"

namespace trawl {

class HostPlaces {
 public:
  // The normal form of "example.com" or ".example.com" (it and its subdomains), so that spellings
  // compare equal. Errors: kInvalidArgument, with a message for the author of the config.
  static Result<std::string> normal(const std::string& host);

  // `host` in normal form. Returns false if it has an entry.
  bool add(std::string_view host, std::size_t place);
  // The entry of the host itself, else that of the longest domain. `hostname`: without a port.
  std::optional<std::size_t> find(std::string_view hostname) const;
  bool empty() const noexcept { return hosts_.empty() && domains_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  using Places = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  Places hosts_;
  Places domains_;  // without the leading dot
};

// The host of a queue (Lease::host) without its port.
std::string_view hostname_of_queue(std::string_view queue);

}  // namespace trawl
