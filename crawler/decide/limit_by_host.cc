#include "crawler/decide/limit_by_host.h"

#include <algorithm>
#include <charconv>

#include "base/mix.h"
#include "crawler/config/host_politeness.h"

namespace trawl {

namespace {

std::string text_of_limit(LimitByHost::Limit limit) {
  return limit ? std::to_string(*limit) : "none";
}

std::optional<LimitByHost::Limit> limit_of_text(std::string_view text) {
  if (text == "none") return LimitByHost::Limit();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return LimitByHost::Limit(number);
}

std::string_view take_limit_word(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

}  // namespace

LimitByHost LimitByHost::pages(const CrawlConfig& config) {
  return of_config(config, config.scope.max_pages_per_host, &HostPolitenessText::max_pages);
}

LimitByHost LimitByHost::urls(const CrawlConfig& config) {
  return of_config(config, config.scope.max_urls_per_host, &HostPolitenessText::max_urls);
}

// An entry without the limit counts too: it is for hosts of a domain whose entry has one.
LimitByHost LimitByHost::of_config(const CrawlConfig& config, Limit all, Member member) {
  LimitByHost limits(all);
  const HostPoliteness hosts(config.politeness);
  const bool any = std::ranges::any_of(
      hosts.entries(), [member](const auto& entry) { return (entry.*member).has_value(); });
  if (!any) return limits;
  for (const HostPolitenessText& entry : hosts.entries())
    limits.add(entry.host, entry.*member ? entry.*member : all);
  return limits;
}

bool LimitByHost::add(std::string_view host, Limit limit) {
  if (!places_.add(host, entries_.size())) return false;
  entries_.emplace_back(host, limit);
  return true;
}

LimitByHost::Limit LimitByHost::of(std::string_view host) const {
  if (entries_.empty()) return all_;
  const auto place = places_.find(hostname_of_queue(host));
  return place ? entries_[*place].second : all_;
}

bool LimitByHost::any() const noexcept {
  return all_ ||
         std::ranges::any_of(entries_, [](const auto& entry) { return entry.second.has_value(); });
}

std::uint64_t LimitByHost::number() const {
  std::uint64_t number = all_.value_or(0);
  for (const auto& [host, limit] : entries_) {
    for (const char byte : host)
      number = mix64(number + static_cast<unsigned char>(byte));
    number = mix64(number + limit.value_or(0));
  }
  return number;
}

std::string LimitByHost::to_text() const {
  std::string text = text_of_limit(all_);
  for (const auto& [host, limit] : entries_)
    text += " " + host + "=" + text_of_limit(limit);
  return text;
}

std::optional<LimitByHost> LimitByHost::parse(std::string_view text) {
  const auto all = limit_of_text(take_limit_word(text));
  if (!all) return std::nullopt;
  LimitByHost limits(*all);
  while (!text.empty()) {
    const std::string_view word = take_limit_word(text);
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto limit = limit_of_text(word.substr(std::min(equals + 1, word.size())));
    if (!limit || equals == 0 || !limits.add(word.substr(0, equals), *limit)) return std::nullopt;
  }
  return limits;
}

}  // namespace trawl
