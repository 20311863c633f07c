#include "crawler/cli/normalize_merge.h"

#include <algorithm>
#include <new>

namespace trawl::cli {

namespace {

void print_text(BufferedOutput& out, std::string_view key, const MergedUrls::Url* url) {
  out << key << '\n';
  for (; url != nullptr; url = url->next)
    out << '\t' << url->line << '\t' << url->times << '\t' << url->href << '\n';
}

void print_json(BufferedOutput& out, std::string_view key, const MergedUrls::Url* url) {
  out << "{\"key\":";
  out.json_string(key) << ",\"urls\":[";
  for (std::string_view before; url != nullptr; url = url->next, before = ",") {
    out << before << "{\"line\":" << url->line << ",\"times\":" << url->times << ",\"href\":";
    out.json_string(url->href) << '}';
  }
  out << "]}\n";
}

}  // namespace

std::string_view MergedUrls::kept(std::string_view text) {
  auto* copy = static_cast<char*>(memory_.allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

MergedUrls::Url* MergedUrls::new_url(std::uint64_t line, std::string_view href,
                                     std::string_view key) {
  const std::string_view kept_href = kept(href);
  const auto [number, is_new] = keys_.try_emplace(hash_(key), groups_.size());
  if (is_new) groups_.push_back({.key = key == href ? kept_href : kept(key)});
  Url* url = new (memory_.allocate(sizeof(Url), alignof(Url)))
      Url{.href = kept_href, .line = line, .group = number->second};
  Group& group = groups_[url->group];
  (group.first == nullptr ? group.first : group.last->next) = url;
  group.last = url;
  return url;
}

Result<void> MergedUrls::print(BufferedOutput& out, bool json) const {
  for (const Group& group : groups_) {
    if (group.lines < 2) continue;
    (json ? print_json : print_text)(out, group.key, group.first);
    if (auto written = out.flush_if_full(); !written) return written;
  }
  return out.flush();
}

}  // namespace trawl::cli
