// The keys of [links].
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/links.h"

#include "crawler/config/config_key_lists.h"
#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"
#include "crawler/config/nearest_name.h"

namespace trawl {

namespace {

constexpr std::array kEngines = {config_key::Word<LinkEngine>{"scanner", LinkEngine::kScanner},
                                 config_key::Word<LinkEngine>{"gumbo", LinkEngine::kGumbo}};

constexpr std::array kCanonicalLinks = {
    config_key::Word<CanonicalLinks>{"record", CanonicalLinks::kRecord},
    config_key::Word<CanonicalLinks>{"key", CanonicalLinks::kKey}};

std::string unknown_kind(const std::optional<std::string_view>& text) {
  const std::string_view nearest = text ? nearest_name(*text, kLinkKindNames) : "";
  return nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest);
}

// Each kind is checked by itself, so that each bad one is named with its place.
void read_kinds(const toml::node& node, LinkKinds& kinds, const ConfigComplaint& complain) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    return complain(node, config_key::mismatch("an array of kinds", "", node));
  }
  kinds = {};
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string_view>();
    if (const auto kind = text ? find_link_kind(*text) : std::nullopt) {
      kinds |= {*kind};
    } else {
      complain(element, config_key::mismatch(fmt::format("each kind to be one of {}",
                                                         fmt::join(kLinkKindNames, ", ")),
                                             "", element, unknown_kind(text)));
    }
  }
}

std::string write_kinds(const LinkKinds& kinds) {
  std::string names;
  for (const std::string_view name : kLinkKindNames) {
    if (!kinds.has(*find_link_kind(name))) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  return "[" + names + "]";
}

ConfigKey kinds_key() {
  ConfigKey key;
  key.name = "links.kinds";
  key.type = "an array of kinds such as [\"navigation\", \"resource\"]";
  key.doc =
      "which links of a page are followed: navigation, document (frames), related (rel=next and "
      "the like), refresh, resource (images, scripts, style sheets), form, citation; see links.md";
  key.read = [](const toml::node& node, CrawlConfig& config, const ConfigComplaint& complain) {
    read_kinds(node, config.links.kinds, complain);
  };
  key.write = [](const CrawlConfig& config) { return write_kinds(config.links.kinds); };
  return key;
}

}  // namespace

void add_links_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(kinds_key());
  keys.push_back(config_key::one_of(
      "links.engine", kEngines, TRAWL_FIELD(links.engine),
      "what reads pages: \"scanner\", which asks Gumbo only where it must, or \"gumbo\", which "
      "takes some forty times as long"));
  keys.push_back(config_key::boolean(
      "links.respect_nofollow", TRAWL_FIELD(links.respect_nofollow),
      "do not follow what rel=nofollow, a meta robots element or an X-Robots-Tag header says not "
      "to"));
  keys.push_back(config_key::boolean("links.sitemaps", TRAWL_FIELD(links.sitemaps),
                                     "follow the sitemaps that a host's robots.txt names"));
  keys.push_back(config_key::boolean("links.from_duplicates", TRAWL_FIELD(links.from_duplicates),
                                     "follow the links of a page whose body was seen before at "
                                     "another URL"));
  keys.push_back(config_key::one_of(
      "links.canonical", kCanonicalLinks, TRAWL_FIELD(links.canonical),
      "what a page's <link rel=canonical> is for: \"record\", pages.jsonl, or \"key\", that a "
      "page which names another one in scope leads to that one and no further"));
  keys.push_back(config_key::list("links.content_types", std::string(config_key::kMediaTypesType),
                                  "which pages are read for links; empty: HTML",
                                  TRAWL_FIELD(links.content_types), config_key::check_media_type,
                                  toml_string));
}

}  // namespace trawl
