// Kinds of arrays of strings.
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/links.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/home_path.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/media_types.h"
#include "crawler/config/nearest_name.h"
#include "crawler/patterns/url_pattern.h"

namespace trawl::config_kind {

namespace {

// The kinds of links that are not guesses, which links.guess is for.
constexpr auto kPlainKinds = std::span(kLinkKindNames).first<kLinkKinds - 1>();

// As one line, or a line each if they are many.
std::string toml_array(const std::vector<std::string>& elements) {
  std::size_t length = 0;
  for (const std::string& element : elements)
    length += element.size() + 2;
  if (length <= 80) return fmt::format("[{}]", fmt::join(elements, ", "));
  return fmt::format("[\n  {},\n]", fmt::join(elements, ",\n  "));
}

// `check(text)` gives what an element means for the field, or an Error with the complaint;
// `to_text(element)` writes it as TOML.
template <class E>
Kind<std::vector<E>> list(const std::string& type, Result<E> (*check)(std::string_view),
                          std::string (*to_text)(const E&)) {
  const auto read = [type, check](const toml::node& element,
                                  const ConfigComplaint& complain) -> std::optional<E> {
    const auto text = element.value_exact<std::string_view>();
    if (!text) {
      complain(element, mismatch(type, "", element));
      return std::nullopt;
    }
    auto value = check(*text);
    if (value) return std::move(*value);
    complain(element, value.error().message);
    return std::nullopt;
  };
  return array<E>(type, read, [to_text](const std::vector<E>& values) {
    std::vector<std::string> texts;
    for (const E& value : values)
      texts.push_back(to_text(value));
    return toml_array(texts);
  });
}

// A list of strings that are kept as they are if `check` accepts them.
template <Result<void> (*kCheck)(std::string_view)>
Kind<Strings> checked_strings(const std::string& type) {
  return list<std::string>(
      type,
      [](std::string_view text) -> Result<std::string> {
        if (auto valid = kCheck(text); !valid) return tl::unexpected(std::move(valid.error()));
        return std::string(text);
      },
      [](const std::string& value) { return toml_string(value); });
}

Result<void> check_pattern(std::string_view text) {
  if (auto pattern = UrlPattern::parse(text); !pattern)
    return tl::unexpected(std::move(pattern.error()));
  return {};
}

Result<std::string> check_media_type(std::string_view text) {
  if (!MediaTypes::is_pattern(text)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("expected a content type such as \"text/html\", \"image/*\" or "
                             "\"*/*\", without parameters; found the string {}",
                             shown(text)));
  }
  std::string type(text);
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

Result<std::string> check_url(std::string_view what, std::string_view text) {
  const auto url = Url::parse(text);
  if (url) return std::string(url->href());
  return error(ErrorCode::kInvalidUrl,
               fmt::format("expected each {} to be an http(s) URL; found the string {} ({})", what,
                           shown(text), url.error().message));
}

// URLs in a line each, however few: see is_saved_config().
Kind<Strings> urls(const std::string& type, Result<std::string> (*check)(std::string_view)) {
  auto kind =
      list<std::string>(type, check, [](const std::string& value) { return toml_string(value); });
  kind.write = [](const Strings& values) {
    std::string out = "[";
    for (const std::string& value : values)
      out += "\n  " + toml_string(value) + ",";
    return out + (values.empty() ? "]" : "\n]");
  };
  return kind;
}

Result<std::filesystem::path> check_path(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("expected a path; found {}", shown(text)));
  }
  auto expanded = expand_home(text);
  if (expanded) return std::move(*expanded);
  return error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", shown(text), expanded.error()));
}

}  // namespace

Kind<Strings> seeds() {
  return urls("an array of http(s) URLs such as [\"https://example.com/\"]",
              [](std::string_view text) { return check_url("seed", text); });
}

Kind<Strings> sitemap_urls() {
  return urls("an array of http(s) URLs such as [\"https://example.com/sitemap.xml\"]",
              [](std::string_view text) { return check_url("sitemap", text); });
}

Kind<Strings> patterns() {
  return checked_strings<check_pattern>(
      "an array of URL patterns such as [\"*/calendar/*\", \"re:[?&]sid=\"]");
}

Kind<Strings> headers() {
  return checked_strings<HostRequests::check_header>(
      "an array of headers such as [\"Accept-Language: en\"]");
}

Kind<Strings> header_names() {
  return checked_strings<HostRequests::check_header_name>(
      "an array of names of headers such as [\"X-Api-Key\"]");
}

Kind<Strings> dns_servers() {
  return checked_strings<HostRequests::check_dns_server>(
      "an array of IP addresses, with or without a port");
}

Kind<Strings> media_types() {
  return list<std::string>("an array of content types such as [\"text/html\", \"image/*\"]",
                           check_media_type,
                           [](const std::string& value) { return toml_string(value); });
}

Kind<std::vector<std::filesystem::path>> paths() {
  return list<std::filesystem::path>(
      "an array of paths such as [\"spam.trawl-filter\", \"hosts.txt\"]", check_path, toml_path);
}

// Paths, written as absolute ones.
Kind<Strings> file_patterns() {
  return list<std::string>(
      "an array of paths such as [\"old/*.cdxj\"]",
      [](std::string_view text) -> Result<std::string> {
        auto path = check_path(text);
        if (!path) return tl::unexpected(std::move(path.error()));
        return path->string();
      },
      [](const std::string& value) { return toml_path(value); });
}

Kind<GuessSources> guess_sources() {
  Kind<GuessSources> kind{"an array of \"scripts\" and \"json\"", {}, {}, {}};
  kind.read = [type = kind.type](const toml::node& node,
                                 const ConfigComplaint& complain) -> std::optional<GuessSources> {
    GuessSources sources;
    const bool good = read_each(node, [&](const toml::node& element) {
      const auto text = element.value_exact<std::string_view>();
      const bool known = text == "scripts" || text == "json";
      if (text == "scripts") sources.scripts = true;
      if (text == "json") sources.json = true;
      if (!known) complain(element, mismatch(type, "", element));
      return known;
    });
    return good ? std::optional(sources) : std::nullopt;
  };
  kind.write = [](const GuessSources& sources) {
    std::vector<std::string> names;
    if (sources.scripts) names.emplace_back("\"scripts\"");
    if (sources.json) names.emplace_back("\"json\"");
    return toml_array(names);
  };
  return kind;
}

Kind<LinkKinds> link_kinds() {
  Kind<LinkKinds> kind{"an array of kinds such as [\"navigation\", \"resource\"]", {}, {}, {}};
  kind.read = [](const toml::node& node,
                 const ConfigComplaint& complain) -> std::optional<LinkKinds> {
    const toml::array* array = node.as_array();
    const toml::array single =
        node.is_string() ? toml::array{*node.value<std::string>()} : toml::array{};
    if (array == nullptr && !node.is_string()) {
      complain(node, mismatch("an array of kinds", "", node));
      return std::nullopt;
    }
    LinkKinds kinds;
    for (const toml::node& element : array == nullptr ? single : *array) {
      const auto text = element.value_exact<std::string_view>();
      const auto found = text ? find_link_kind(*text) : std::nullopt;
      if (found == LinkKind::kGuess) {
        complain(element, "guesses are followed by links.guess");
        continue;
      }
      if (found) {
        kinds |= {*found};
        continue;
      }
      const auto nearest = text ? nearest_name(*text, kLinkKindNames) : std::string_view();
      complain(
          element,
          mismatch(fmt::format("each kind to be one of {}", fmt::join(kPlainKinds, ", ")), "",
                   element, nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest)));
    }
    return kinds;
  };
  kind.write = [](const LinkKinds& kinds) {
    std::vector<std::string> names;
    for (const std::string_view name : kLinkKindNames) {
      if (kinds.has(*find_link_kind(name))) names.push_back(toml_string(name));
    }
    return toml_array(names);
  };
  return kind;
}

}  // namespace trawl::config_kind
