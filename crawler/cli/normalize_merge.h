// MergedUrls: which URLs of a list have one key.
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

#include "crawler/cli/normalize_output.h"

namespace trawl::cli {

// Keeps each distinct URL and each distinct key once, about 300 bytes and their text, and a few
// bytes for each line that repeats a URL. URLs are told apart by their fingerprints, as in a crawl.
class MergedUrls {
 public:
  struct Url {
    std::string_view href;
    std::uint64_t first_line;
    std::uint64_t last_line;
    std::pmr::string later_lines;  // each as its distance from the one before, in base 128
    std::size_t group;
    Url* next = nullptr;
  };

  // Takes a line; they come in ascending order. Calls `make_key` for the key if the URL is new.
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

  // Prints the keys that two lines or more have, in the order of their first lines, each with its
  // URLs in the order of theirs.
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
  // The hash is keyed: no list can be made to collide.
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
