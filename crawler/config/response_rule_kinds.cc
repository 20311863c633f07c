// The kind of rules on responses: { exclude = "video/*", status = [404, "5xx"] }.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/media_types.h"

namespace trawl::config_kind {

namespace {

constexpr int kLeastStatus = 100;
constexpr int kMostStatus = 999;
constexpr std::string_view kStatuses = "a status such as 404, \"5xx\" or \"500-503\"";

std::optional<int> read_status(std::string_view text) {
  int status = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, status);
  if (failure != std::errc() || stop != end) return std::nullopt;
  if (status < kLeastStatus || status > kMostStatus) return std::nullopt;
  return status;
}

std::optional<StatusRange> read_range(std::string_view text) {
  if (text.size() == 3 && text[0] >= '1' && text[0] <= '9' &&
      (text.substr(1) == "xx" || text.substr(1) == "XX")) {
    const int first = (text[0] - '0') * 100;
    return StatusRange{first, first + 99};
  }
  const std::size_t dash = text.find('-');
  const auto first = read_status(text.substr(0, dash));
  if (dash == std::string_view::npos)
    return first ? std::optional(StatusRange{*first, *first}) : std::nullopt;
  const auto last = read_status(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return StatusRange{*first, *last};
}

bool read_statuses(const toml::node& node, std::vector<StatusRange>& statuses,
                   const ConfigComplaint& complain) {
  const auto read_one = [&](const toml::node& element) {
    std::optional<StatusRange> range;
    if (const auto text = element.value_exact<std::string_view>()) range = read_range(*text);
    if (const auto number = element.value_exact<std::int64_t>())
      range = read_range(std::to_string(*number));
    if (range) {
      statuses.push_back(*range);
    } else {
      complain(element, "status: " + mismatch(kStatuses, "", element));
    }
    return range.has_value();
  };
  if (const toml::array* several = node.as_array(); several != nullptr && several->empty()) {
    complain(node, "status: expected at least one status; leave it out for all");
    return false;
  }
  return read_each(node, read_one);
}

std::optional<ResponseRuleText> read_response_rule(const toml::table& table,
                                                   const ConfigComplaint& complain) {
  if (!only_names(table, {"include", "exclude", "status"}, complain)) return std::nullopt;
  ResponseRuleText rule{.include = table.contains("include"), .type = {}, .statuses = {}};
  if (rule.include == table.contains("exclude")) {
    complain(table, "expected either include or exclude, a content type such as \"image/*\"");
    return std::nullopt;
  }
  const std::string_view name = rule.include ? "include" : "exclude";
  const toml::node& node = *table.get(name);
  const auto type = node.value_exact<std::string>();
  const bool is_type = type && MediaTypes::is_pattern(*type);
  if (is_type) {
    rule.type = *type;
  } else {
    complain(node, fmt::format("{}: {}", name,
                               mismatch("a content type such as \"text/html\", \"image/*\" or "
                                        "\"*/*\", without parameters",
                                        "", node)));
  }
  const toml::node* status = table.get("status");
  if (status != nullptr && !read_statuses(*status, rule.statuses, complain)) return std::nullopt;
  return is_type ? std::optional(std::move(rule)) : std::nullopt;
}

std::string write_range(const StatusRange& range) {
  if (range.first == range.last) return std::to_string(range.first);
  if (range.first % 100 == 0 && range.last == range.first + 99)
    return fmt::format("\"{}xx\"", range.first / 100);
  return fmt::format("\"{}-{}\"", range.first, range.last);
}

std::string write_response_rule(const ResponseRuleText& rule) {
  std::string out =
      fmt::format("{{ {} = {}", rule.include ? "include" : "exclude", toml_string(rule.type));
  std::vector<std::string> statuses;
  for (const StatusRange& range : rule.statuses)
    statuses.push_back(write_range(range));
  if (statuses.size() == 1) out += ", status = " + statuses.front();
  if (statuses.size() > 1) out += fmt::format(", status = [{}]", fmt::join(statuses, ", "));
  return out + " }";
}

}  // namespace

Kind<std::vector<ResponseRuleText>> response_rules() {
  return tables<ResponseRuleText>(
      "an array of { include or exclude = content type, status = 404 or \"5xx\" }",
      read_response_rule, write_response_rule);
}

}  // namespace trawl::config_kind
