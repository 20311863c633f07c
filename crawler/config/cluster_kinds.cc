// The kinds of [cluster].
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/cluster_config.h"
#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/kind_parts.h"

namespace trawl::config_kind {

namespace {

// A string that is unset if it is empty.
template <class Valid>
Kind<std::string> optional_string(std::string type, std::string range, Valid valid) {
  Kind<std::string> kind{std::move(type), std::move(range), {}, {}};
  kind.read = [valid, type = kind.type, range = kind.range](
                  const toml::node& node,
                  const ConfigComplaint& complain) -> std::optional<std::string> {
    const auto text = node.value_exact<std::string>();
    if (text && (text->empty() || valid(*text))) return text;
    complain(node, mismatch(type, range, node));
    return std::nullopt;
  };
  kind.write = [](const std::string& text) {
    return text.empty() ? std::string() : toml_string(text);
  };
  return kind;
}

std::optional<std::string> read_redis_node(const toml::node& element,
                                           const ConfigComplaint& complain, std::string_view type) {
  const auto text = element.value_exact<std::string>();
  if (!text) {
    complain(element, mismatch(type, "", element));
    return std::nullopt;
  }
  const auto place = parse_redis_place(*text);
  if (!place) {
    complain(element, place.error().message);
    return std::nullopt;
  }
  if (!place->crawl.empty()) {
    complain(element, fmt::format("the name of the crawl, {}, belongs into cluster.name",
                                  shown(place->crawl)));
    return std::nullopt;
  }
  return text;
}

}  // namespace

Kind<Strings> redis_nodes() {
  const std::string type = "an array of nodes such as [\"10.0.0.1:6379\", \"10.0.0.2:6379\"]";
  return array<std::string>(
      type,
      [type](const toml::node& element, const ConfigComplaint& complain) {
        return read_redis_node(element, complain, type);
      },
      [](const Strings& nodes) {
        Strings texts;
        for (const std::string& node : nodes)
          texts.push_back(toml_string(node));
        return fmt::format("[{}]", fmt::join(texts, ", "));
      });
}

Kind<std::string> crawl_name() {
  return optional_string(
      "a name",
      fmt::format("1 to {} letters, digits, dots, hyphens and underscores, the first a letter or "
                  "digit",
                  kMaxCrawlName),
      is_crawl_name);
}

Kind<std::string> short_text(std::size_t most) {
  return optional_string("a string",
                         fmt::format("at most {} bytes without control characters", most),
                         [most](std::string_view text) {
                           return text.size() <= most && !has_control_character(text);
                         });
}

}  // namespace trawl::config_kind
