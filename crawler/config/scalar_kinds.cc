// Kinds of single values.
#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/frontier_options.h"

#include "base/ascii.h"
#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/home_path.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/nearest_name.h"
#include "crawler/parse/headers/product_token.h"

namespace trawl::config_kind {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxRobotsToken = 64;
constexpr std::size_t kMaxWarcPrefix = 100;

// A kind whose value is converted as a whole: `from_node(node, why)` gives a value, or nothing, and
// then may say in `why` what is wrong.
template <class V, class FromNode, class Write>
Kind<V> whole(std::string type, std::string range, FromNode from_node, Write write) {
  Kind<V> kind{std::move(type), std::move(range), {}, write};
  kind.read = [from_node, type = kind.type, range = kind.range](
                  const toml::node& node, const ConfigComplaint& complain) -> std::optional<V> {
    std::string why;
    std::optional<V> value = from_node(node, why);
    if (!value) complain(node, mismatch(type, range, node, why));
    return value;
  };
  return kind;
}

// A kind of strings that `valid(text)` accepts.
template <class Valid>
Kind<std::string> string_kind(std::string type, std::string range, Valid valid) {
  return whole<std::string>(
      std::move(type), std::move(range),
      [valid](const toml::node& node, std::string&) -> std::optional<std::string> {
        const auto value = node.value_exact<std::string_view>();
        if (!value || !valid(*value)) return std::nullopt;
        return std::string(*value);
      },
      [](const std::string& value) { return toml_string(value); });
}

// It becomes a part of file names.
bool is_warc_prefix(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWarcPrefix && !text.starts_with('.') &&
         !text.starts_with('-') && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::optional<std::uint64_t> bytes_of(const toml::node& node, std::string& why) {
  if (const auto text = node.value_exact<std::string_view>()) {
    const auto value = parse_size(*text);
    if (value) return *value;
    why = value.error();
  } else if (const auto* number = node.as_integer(); number != nullptr && **number >= 0) {
    return static_cast<std::uint64_t>(**number);
  }
  return std::nullopt;
}

// A whole number, or a text such as "10k".
std::optional<std::int64_t> count_of(const toml::node& node, std::string& why) {
  if (const auto* number = node.as_integer()) return **number;
  const auto text = node.value_exact<std::string_view>();
  if (!text) return std::nullopt;
  const auto value = parse_count(*text);
  if (!value) {
    why = value.error();
  } else if (*value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return static_cast<std::int64_t>(*value);
  }
  return std::nullopt;
}

// Any number, or a text that is one.
std::optional<double> number_of(const toml::node& node) {
  if (node.is_number()) return node.value<double>();
  const auto text = node.value_exact<std::string_view>();
  if (!text || text->empty()) return std::nullopt;
  double value = 0;
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<milliseconds> duration_of(const toml::node& node, milliseconds least,
                                        milliseconds most, std::string& why) {
  const auto text = node.value_exact<std::string_view>();
  const auto* number = node.as_integer();
  if (!text && number == nullptr) return std::nullopt;
  const auto value = parse_duration(text ? std::string(*text) : std::to_string(**number));
  if (!value) why = value.error();
  if (!value || *value < least || *value > most) return std::nullopt;
  return *value;
}

}  // namespace

std::string mismatch(std::string_view type, std::string_view range, const toml::node& node,
                     std::string_view why) {
  return fmt::format("expected {}{}{}; found {}{}{}{}", type, range.empty() ? "" : ", ", range,
                     describe(node), why.empty() ? "" : " (", why, why.empty() ? "" : ")");
}

std::string nearest_choice(const std::vector<ConfigChoice>& choices, const toml::node& node) {
  const auto text = node.value_exact<std::string_view>();
  if (!text) return {};
  std::vector<std::string_view> words;
  for (const ConfigChoice& choice : choices)
    words.push_back(choice.word);
  const std::string_view nearest = nearest_name(*text, words);
  return nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest);
}

std::string type_of_choices(const std::vector<ConfigChoice>& choices) {
  std::string words;
  for (const ConfigChoice& choice : choices)
    words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", choice.word);
  return "one of " + words;
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    // U+0080 to U+009F in UTF-8.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      return true;
    }
  }
  return false;
}

Kind<std::int64_t> integer(std::string_view unit, std::int64_t least, std::int64_t most) {
  const bool open = most == std::numeric_limits<std::int64_t>::max();
  return whole<std::int64_t>(
      fmt::format("a whole number of {}", unit),
      open ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most),
      [least, most](const toml::node& node, std::string& why) -> std::optional<std::int64_t> {
        const auto value = count_of(node, why);
        if (!value || *value < least || *value > most) return std::nullopt;
        return value;
      },
      [](std::int64_t value) { return fmt::format("{}", value); });
}

Kind<double> probability() {
  return whole<double>(
      "a number such as 1e-6", "above 0 and below 1",
      [](const toml::node& node, std::string&) -> std::optional<double> {
        const auto value = number_of(node);
        if (!value || !(*value > 0 && *value < 1)) return std::nullopt;
        return value;
      },
      [](double value) {
        const std::string text = fmt::format("{}", value);
        // TOML takes a number without a point or an exponent for an integer.
        return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
      });
}

Kind<double> factor(double most) {
  return whole<double>(
      "a number such as 2 or 1.5", fmt::format("0 to {}", most),
      [most](const toml::node& node, std::string&) -> std::optional<double> {
        const auto value = number_of(node);
        if (!value || !(*value >= 0 && *value <= most)) return std::nullopt;
        return *value == 0 ? 0 : *value;  // no negative zero
      },
      [](double value) { return fmt::format("{}", value); });
}

Kind<bool> boolean() {
  return whole<bool>(
      "true or false", "",
      [](const toml::node& node, std::string&) -> std::optional<bool> {
        const auto word = node.value_exact<std::string_view>();
        if (!word) return node.value_exact<bool>();
        for (const std::string_view yes : {"true", "yes", "on"})
          if (equal_in_any_case(*word, yes)) return true;
        for (const std::string_view no : {"false", "no", "off"})
          if (equal_in_any_case(*word, no)) return false;
        return std::nullopt;
      },
      [](bool value) { return value ? "true" : "false"; });
}

Kind<milliseconds> duration(milliseconds least, milliseconds most) {
  return whole<milliseconds>(
      "a duration such as \"500ms\", \"1.5s\" or \"2m\"",
      fmt::format("\"{}\" to \"{}\"", format_duration(least), format_duration(most)),
      [least, most](const toml::node& node, std::string& why) {
        return duration_of(node, least, most, why);
      },
      [](milliseconds value) { return '"' + format_duration(value) + '"'; });
}

Kind<std::optional<milliseconds>> interval() {
  using Interval = std::optional<milliseconds>;
  return whole<Interval>(
      "a duration such as \"12h\" or \"7d\", or \"never\"",
      fmt::format("\"1ms\" to \"{}\"", format_duration(kMaxDelay)),
      [](const toml::node& node, std::string& why) -> std::optional<Interval> {
        if (node.value_exact<std::string_view>() == "never") return Interval();
        const auto value = duration_of(node, 1ms, kMaxDelay, why);
        return value ? std::optional<Interval>(value) : std::nullopt;
      },
      [](const Interval& value) {
        return fmt::format("\"{}\"", value ? format_duration(*value) : std::string("never"));
      });
}

Kind<std::uint64_t> size(std::uint64_t least, std::uint64_t most) {
  return whole<std::uint64_t>(
      "a size such as \"10MiB\", \"1GB\" or a number of bytes",
      fmt::format("\"{}\" to \"{}\"", format_size(least), format_size(most)),
      [least, most](const toml::node& node, std::string& why) {
        const auto bytes = bytes_of(node, why);
        return bytes && *bytes >= least && *bytes <= most ? bytes : std::nullopt;
      },
      [](std::uint64_t value) { return '"' + format_size(value) + '"'; });
}

Kind<std::string> text(std::size_t least, std::size_t most) {
  return string_kind(
      "a string", fmt::format("{} to {} bytes without control characters", least, most),
      [least, most](std::string_view value) {
        return value.size() >= least && value.size() <= most && !has_control_character(value);
      });
}

Kind<std::string> robots_token() {
  auto kind =
      string_kind("a name of letters, digits, '-' and '_'",
                  fmt::format("at most {} bytes", kMaxRobotsToken), [](std::string_view value) {
                    return value.size() <= kMaxRobotsToken && product_token(value) == value;
                  });
  kind.write = [](const std::string& value) { return value.empty() ? value : toml_string(value); };
  return kind;
}

Kind<std::string> warc_prefix() {
  return string_kind(
      "a string",
      fmt::format("1 to {} letters, digits, dots, hyphens and underscores, the first a letter, "
                  "digit or underscore",
                  kMaxWarcPrefix),
      is_warc_prefix);
}

// A proxy may hold a password, which no message shows.
Kind<std::string> proxy() {
  Kind<std::string> kind;
  kind.type = "a URL such as \"http://proxy.example:3128\" or \"socks5h://127.0.0.1:1080\"";
  kind.read = [type = kind.type](const toml::node& node,
                                 const ConfigComplaint& complain) -> std::optional<std::string> {
    const auto text = node.value_exact<std::string>();
    if (!text) {
      complain(node, mismatch(type, "", node));
    } else if (const auto valid = HostRequests::check_proxy(*text); !valid) {
      complain(node, valid.error().message);
    } else {
      return text;
    }
    return std::nullopt;
  };
  kind.write = [](const std::string& value) { return value.empty() ? value : toml_string(value); };
  return kind;
}

std::string toml_path(const std::filesystem::path& value) {
  if (value.empty()) return {};
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(value, failed);
  return toml_string((failed ? value : absolute).string());
}

Kind<std::filesystem::path> path() {
  return whole<std::filesystem::path>(
      "a path", "",
      [](const toml::node& node, std::string& why) -> std::optional<std::filesystem::path> {
        const auto text = node.value_exact<std::string_view>();
        if (!text) return std::nullopt;
        if (text->find('\0') != std::string_view::npos) {
          why = "a path cannot have a NUL byte";
          return std::nullopt;
        }
        auto expanded = expand_home(*text);
        if (expanded) return std::move(*expanded);
        why = expanded.error();
        return std::nullopt;
      },
      toml_path);
}

// The seeds of a seed file are written with the others, so the file itself is not needed again.
Kind<std::filesystem::path> seed_file() {
  auto kind = path();
  kind.write = [](const std::filesystem::path&) { return std::string(); };
  return kind;
}

}  // namespace trawl::config_kind
