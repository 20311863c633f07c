// The kinds of [[seed]] and of scope.type.
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/kind_parts.h"

namespace trawl::config_kind {

namespace {

constexpr std::int64_t kMostDepth = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxNote = 1024;  // bytes

bool read_url(const toml::table& table, std::string& url, const ConfigComplaint& complain) {
  const toml::node* node = table.get("url");
  if (node == nullptr) {
    complain(table, "url is missing: the http(s) URL of the seed");
    return false;
  }
  const auto text = node->value_exact<std::string_view>();
  const auto parsed = text ? Url::parse(*text) : error(ErrorCode::kInvalidUrl, "");
  if (parsed) {
    url = parsed->href();
    return true;
  }
  complain(*node, "url: " + mismatch("an http(s) URL", "", *node, parsed.error().message));
  return false;
}

std::optional<SeedText> read_seed(const toml::table& table, const ConfigComplaint& complain) {
  static const auto depths = integer("links", 0, kMostDepth);
  static const auto scopes = scope_type();
  static const auto priorities = integer("", -kMaxPriority, kMaxPriority);
  static const auto notes = text(0, kMaxNote);
  SeedText seed;
  std::optional<std::string> note;
  bool good = only_names(table, {"url", "depth", "scope", "priority", "note"}, complain);
  good &= read_url(table, seed.url, complain);
  good &= read_optional(table, "depth", depths, seed.depth, complain);
  good &= read_optional(table, "scope", scopes, seed.scope, complain);
  good &= read_optional(table, "priority", priorities, seed.priority, complain);
  good &= read_optional(table, "note", notes, note, complain);
  seed.note = std::move(note).value_or("");
  return good ? std::optional(std::move(seed)) : std::nullopt;
}

std::string write_seed(const SeedText& seed) {
  static const auto scopes = scope_type();
  std::string out = "{ url = " + toml_string(seed.url);
  if (seed.depth) out += fmt::format(", depth = {}", *seed.depth);
  if (seed.scope) out += ", scope = " + scopes.write(*seed.scope);
  if (seed.priority) out += fmt::format(", priority = {}", *seed.priority);
  if (!seed.note.empty()) out += ", note = " + toml_string(seed.note);
  return out + " }";
}

}  // namespace

Kind<ScopeType> scope_type() {
  return one_of<ScopeType>(
      {{"page", ScopeType::kPage, "none: only the seeds are fetched"},
       {"prefix", ScopeType::kPrefix, "those below the folder of a seed"},
       {"host", ScopeType::kHost, "those on the host of a seed"},
       {"domain", ScopeType::kDomain,
        "those on the registrable domain of a seed: example.com and all its subdomains"},
       {"any", ScopeType::kAny, "all"}});
}

Kind<std::vector<SeedText>> seed_settings() {
  auto kind = tables<SeedText>("tables [[seed]] with a url and any of depth, scope, priority, note",
                               read_seed, write_seed);
  kind.read = [read = kind.read](const toml::node& node, const ConfigComplaint& complain) {
    auto seeds = read(node, complain);
    std::unordered_set<std::string> known;
    for (const SeedText& seed : seeds.value_or(std::vector<SeedText>())) {
      // The fragment is not part of what is fetched.
      if (!known.insert(seed.url.substr(0, seed.url.find('#'))).second)
        complain(node, fmt::format("the seed {} is named twice", shown(seed.url)));
    }
    return seeds;
  };
  return kind;
}

}  // namespace trawl::config_kind
