// UrlsByKey: finds URLs of a list that have the same key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "crawler/cli/buffered_output.h"

namespace trawl::cli {

// Stores each distinct URL and each distinct key once, in about 300 bytes and their text, and a few
// bytes for each line that repeats a URL. URLs are distinguished by their fingerprints, as in a
// crawl.
class UrlsByKey {
 public:
  struct Url {
    std::string_view href;
    std::uint64_t first_line;
    std::uint64_t last_line;
    std::pmr::string later_lines;  // differences of line numbers, in base 128
    std::size_t group;
    Url* next = nullptr;
  };

  // Adds a line. Lines come in ascending order. Calls `make_key` for the key if the URL is new.
  template <class MakeKey>
  void add(std::uint64_t line, std::string_view href, MakeKey make_key) {
    Url*& url = urls_.try_emplace(hash_(href), nullptr).first->second;
    if (url == nullptr) {
      url = new_url(line, href, make_key());
    } else {
      add_line(line, *url);
    }
    ++groups_[url->group].lines;
    ++lines_;
  }

  // Prints the keys that two or more lines have, ordered by their first lines, each with its URLs
  // in the same order.
  Result<void> print(BufferedOutput& out, bool json) const;

  std::uint64_t lines() const { return lines_; }
  std::uint64_t keys() const { return groups_.size(); }

 private:
  struct Group {
    std::string_view key;
    std::uint64_t lines = 0;
    Url* first = nullptr;
    Url* last = nullptr;
  };
  // The hash is keyed, so that no list can be crafted to collide.
  struct LowHalf {
    std::size_t operator()(const Fingerprint& fingerprint) const noexcept {
      return static_cast<std::size_t>(fingerprint.low);
    }
  };

  Url* new_url(std::uint64_t line, std::string_view href, std::string_view key);
  static void add_line(std::uint64_t line, Url& url);
  std::string_view kept(std::string_view text);

  const KeyedHash hash_ = KeyedHash::random();
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::unordered_map<Fingerprint, Url*, LowHalf> urls_{&memory_};
  std::pmr::unordered_map<Fingerprint, std::size_t, LowHalf> keys_{&memory_};
  std::vector<Group> groups_;
  std::uint64_t lines_ = 0;
};

}  // namespace trawl::cli
