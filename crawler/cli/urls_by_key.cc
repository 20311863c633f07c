#include "crawler/cli/urls_by_key.h"

#include <algorithm>
#include <new>

namespace trawl::cli {

namespace {

// Prints the numbers of the URL's lines, separated by commas.
Result<void> print_lines(BufferedOutput& out, const UrlsByKey::Url& url) {
  std::uint64_t line = url.first_line;
  out << line;
  std::uint64_t distance = 0;
  unsigned shift = 0;
  for (const char byte : url.later_lines) {
    distance |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    line += distance;
    out << ',' << line;
    distance = 0;
    shift = 0;
    if (auto written = out.flush_if_full(); !written) return written;
  }
  return {};
}

Result<void> print_merged_text(BufferedOutput& out, std::string_view key,
                               const UrlsByKey::Url* url) {
  out << key << '\n';
  for (; url != nullptr; url = url->next) {
    out << '\t';
    if (auto written = print_lines(out, *url); !written) return written;
    out << '\t' << url->href << '\n';
  }
  return {};
}

Result<void> print_merged_json(BufferedOutput& out, std::string_view key,
                               const UrlsByKey::Url* url) {
  out << "{\"key\":";
  out.json_string(key) << ",\"urls\":[";
  for (std::string_view before; url != nullptr; url = url->next, before = ",") {
    out << before << "{\"lines\":[";
    if (auto written = print_lines(out, *url); !written) return written;
    out << "],\"href\":";
    out.json_string(url->href) << '}';
  }
  out << "]}\n";
  return {};
}

}  // namespace

std::string_view UrlsByKey::kept(std::string_view text) {
  auto* copy = static_cast<char*>(memory_.allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

void UrlsByKey::add_line(std::uint64_t line, Url& url) {
  std::uint64_t distance = line - url.last_line;
  for (; distance >= 0x80; distance >>= 7)
    url.later_lines.push_back(static_cast<char>((distance & 0x7F) | 0x80));
  url.later_lines.push_back(static_cast<char>(distance));
  url.last_line = line;
}

UrlsByKey::Url* UrlsByKey::new_url(std::uint64_t line, std::string_view href,
                                   std::string_view key) {
  const std::string_view kept_href = kept(href);
  const auto [number, is_new] = keys_.try_emplace(hash_(key), groups_.size());
  if (is_new) groups_.push_back({.key = key == href ? kept_href : kept(key)});
  // Never destroyed: all its memory belongs to `memory_`.
  Url* url = new (memory_.allocate(sizeof(Url), alignof(Url)))
      Url{.href = kept_href,
          .first_line = line,
          .last_line = line,
          .later_lines = std::pmr::string(&memory_),
          .group = number->second};
  Group& group = groups_[url->group];
  (group.first == nullptr ? group.first : group.last->next) = url;
  group.last = url;
  return url;
}

Result<void> UrlsByKey::print(BufferedOutput& out, bool json) const {
  for (const Group& group : groups_) {
    if (group.lines < 2) continue;
    const auto print_group = json ? print_merged_json : print_merged_text;
    if (auto printed = print_group(out, group.key, group.first); !printed) return printed;
    if (auto written = out.flush_if_full(); !written) return written;
  }
  return out.flush();
}

}  // namespace trawl::cli
