// Made robots.txt files: ordinary ones, and those that try to make matching slow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace trawl {

// As the large sites have them: hundreds of agents shut out one by one, then one long group.
// `rules` is how many that group has; about one in eight has a '*'.
inline std::string ordinary_robots(std::size_t rules, std::size_t agents) {
  std::string text = "# robots.txt of site.example\n# Please be kind to the servers.\n#\n";
  for (std::size_t i = 0; i < agents; ++i) {
    text += fmt::format("User-agent: {}Spider{}\nDisallow: /\n\n", i % 2 == 0 ? "Web" : "Site", i);
  }
  text += "#\n# Sorry for the rest of you.\n#\nUser-agent: *\nCrawl-delay: 1\n";
  constexpr std::string_view kFolders[] = {"wiki/Special:", "wiki/Project:", "api/v2/", "search/",
                                           "user/profile/", "w/static/",     "forum/",  "print/"};
  constexpr std::string_view kWildcards[] = {
      "/*?sort={}",    "/*/print-{}$",          "/wiki/*/edit-{}",    "/*.php{}$",
      "/*&session{}=", "/shop/*/basket/{}/pay", "/articles/*/{}.pdf$"};
  for (std::size_t i = 0; i < rules; ++i) {
    if (i % 8 == 7) {
      const std::string pattern = fmt::format(fmt::runtime(kWildcards[i / 8 % 7]), i);
      text += fmt::format("Disallow: {}\n", pattern);
    } else {
      text += fmt::format("{}: /{}Topic_{:03}{}\n", i % 10 == 3 ? "Allow" : "Disallow",
                          kFolders[i % 8], i, i % 3 == 0 ? "/" : "");
    }
  }
  return text + "Sitemap: https://site.example/sitemap.xml\n";
}

struct HostileRobots {
  std::string name;
  std::string text;
  std::string path;  // 2 KB
};

// Makes lines until the file has nearly `bytes`.
template <class MakePattern>
std::string full_of_rules(std::size_t bytes, MakePattern&& make_pattern) {
  std::string text = "User-agent: *\n";
  for (std::size_t i = 0;; ++i) {
    const std::string line = fmt::format("Allow:{}\n", make_pattern(i));
    if (text.size() + line.size() > bytes) return text;
    text += line;
  }
}

inline std::string repeated(std::string_view unit, std::size_t size) {
  std::string text;
  while (text.size() < size)
    text += unit;
  text.resize(size);
  return text;
}

// Patterns that do not match, so that all of them are searched for.
inline std::vector<HostileRobots> hostile_robots(std::size_t bytes = 500u << 10) {
  constexpr std::size_t kPath = 2000;
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
  std::mt19937 random(7);
  const auto any_text = [&](std::size_t size) {
    std::string text;
    while (text.size() < size)
      text += letters[random() % letters.size()];
    return text;
  };
  const std::string many_a = "/b" + std::string(kPath - 2, 'a');
  const std::string any_path = "/" + any_text(kPath - 1);
  const std::string blocks = "/!" + repeated(any_text(61), kPath - 2);
  const auto piece_of = [&](const std::string& path, std::size_t size) {
    return path.substr(1 + random() % (path.size() - size - 1), size);
  };
  std::vector<HostileRobots> files;
  const auto add = [&](std::string name, const std::string& path, auto&& make_pattern) {
    files.push_back({std::move(name), full_of_rules(bytes, make_pattern), path});
  };

  add("stars_16k_lines", many_a, [](auto) { return repeated("*a", (16 << 10) - 10); });
  add("stars_then_miss", many_a, [](auto) { return repeated("*a", 3990) + "*b"; });
  add("stars_then_miss_at_end", many_a, [](auto) { return repeated("*a", 3990) + "*b$"; });
  add("as_then_b", many_a, [](auto) { return "/*aaaaaaaaab"; });
  add("as_then_b_long", many_a, [](auto i) { return "/*" + std::string(1 + i % 900, 'a') + "b"; });
  add("as_twice", many_a,
      [](auto i) { return "/*" + std::string(1000 + i % 900, 'a') + "*" + std::string(999, 'a'); });
  add("nested_runs", many_a, [](auto i) { return "/*" + std::string(1 + i % 1000, 'a') + "*b"; });
  add("single_letters", any_path,
      [&](auto) { return fmt::format("/*{}*{}*!", piece_of(any_path, 1), piece_of(any_path, 1)); });
  for (const std::size_t size : {1, 2, 3, 4, 8, 12, 30}) {
    add(fmt::format("pieces_of_{}", size), any_path + "!", [&, size](auto) {
      std::string pattern = "/";
      for (int i = 0; i < 400; ++i)
        pattern += "*" + piece_of(any_path, size);
      return pattern;
    });
    // In their order in the URL, so that each except the last is found.
    add(fmt::format("ordered_pieces_of_{}", size), any_path, [&, size](auto i) {
      std::string pattern = "/";
      for (std::size_t at = 1 + i % 3; at + size < kPath - 60; at += size)
        pattern += "*" + any_path.substr(at, size);
      return pattern + "*" + any_path.substr(1, 2);
    });
    add(fmt::format("few_ordered_pieces_of_{}", size), any_path, [&, size](auto i) {
      std::string pattern = "/*" + any_path.substr(1 + i % 300, size);
      for (int more = 1; more < 4; ++more)
        pattern += "*" + any_path.substr(400 * more + random() % 300, size);
      return pattern + "*" + any_path.substr(1 + random() % 300, 6);
    });
    add(fmt::format("two_pieces_of_{}_at_end", size), any_path, [&, size](auto) {
      return "/*" + piece_of(any_path, size) + "*" + piece_of(any_path, size) + "*~$";
    });
    add(fmt::format("periodic_pieces_of_{}", size), blocks, [&, size](auto) {
      return "/*" + piece_of(blocks, 2) + "*" + piece_of(blocks, size) + "*!";
    });
  }
  add("periodic_then_other", blocks, [&](auto) {
    return "/*" + piece_of(blocks, 3) + "*" + piece_of(blocks, 20) + piece_of(blocks, 1);
  });
  add("two_letters", "/" + repeated("ab", kPath / 2) + repeated("abb", kPath / 2), [&](auto) {
    std::string pattern = "/*";
    for (std::size_t size = 4 + random() % 12; size > 0; --size)
      pattern += random() % 7 == 0 ? '*' : static_cast<char>('a' + random() % 2);
    return pattern + "aab";
  });
  add("escapes", "/" + repeated("%E3%83%84%e3%20", kPath - 1),
      [](auto i) { return fmt::format("/*%e3%83*\xE3\x83\x84*%{:02x}*%20%20", 128 + i % 100); });
  add("unwritten_octets", "/" + repeated("%E3%83%84", kPath - 1),
      [&](auto) { return "/*" + repeated("\xE3\x83\x84", random() % 60) + "*\xFF"; });
  add("prefixes", many_a, [](auto i) { return "/b" + std::string(1 + i % 1000, 'a') + "b"; });
  add("nested_prefixes", many_a, [](auto i) { return "/b" + std::string(1 + i % 1000, 'a'); });
  return files;
}

}  // namespace trawl
