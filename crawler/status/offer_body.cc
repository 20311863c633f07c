#include "crawler/status/offer_body.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/safe_text.h"

namespace trawl {

namespace {

using nlohmann::json;

constexpr std::size_t kMostOffered = 100'000;

tl::unexpected<Error> bad_offer(std::string_view where, std::string_view why) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{}: {}; send {{\"urls\": [\"https://example.com/\"]}}, or a URL or "
                           "{{\"url\": \"...\", \"depth\": 0}} on each line",
                           where, why));
}

Result<OfferedUrl> url_of_json(const json& value, const std::string& where) {
  OfferedUrl offered;
  if (value.is_string()) {
    offered.url = value.get<std::string>();
    return offered;
  }
  if (!value.is_object()) return bad_offer(where, "not a URL");
  for (const auto& [key, part] : value.items()) {
    if (key == "url" && part.is_string()) {
      offered.url = part.get<std::string>();
    } else if (key == "priority" && part.is_number_integer()) {
      const auto number = part.get<std::int64_t>();
      offered.priority = static_cast<std::int32_t>(number);
      if (*offered.priority != number) return bad_offer(where, "the priority is out of range");
    } else if (key == "depth" && part.is_number_unsigned() &&
               part.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
      offered.depth = part.get<std::uint32_t>();
    } else if (key == "url" || key == "priority" || key == "depth") {
      return bad_offer(where, fmt::format("\"{}\" has a wrong value", key));
    }
    // Other keys are those of `trawl frontier dump`; they describe the URL elsewhere.
  }
  if (offered.url.empty()) return bad_offer(where, "\"url\" is missing");
  return offered;
}

Result<std::vector<OfferedUrl>> urls_of_array(const json& urls) {
  std::vector<OfferedUrl> offered;
  if (!urls.is_array()) return bad_offer("\"urls\"", "not an array");
  if (urls.size() > kMostOffered)
    return bad_offer("\"urls\"", fmt::format("more than {} URLs", kMostOffered));
  for (std::size_t i = 0; i < urls.size(); ++i) {
    auto url = url_of_json(urls[i], fmt::format("URL {}", i + 1));
    if (!url) return tl::unexpected(url.error());
    offered.push_back(std::move(*url));
  }
  return offered;
}

std::string_view without_blanks(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

Result<std::vector<OfferedUrl>> parse_offer_body(std::string_view body) {
  const std::string_view text =
      body.substr(std::min(body.find_first_not_of(" \t\r\n"), body.size()));
  if (text.starts_with('{') || text.starts_with('[')) {
    const json whole = json::parse(body, nullptr, false);
    if (whole.is_object() && whole.contains("urls")) return urls_of_array(whole["urls"]);
    if (whole.is_array()) return urls_of_array(whole);
    if (text.starts_with('[')) return bad_offer("the body", "not a JSON array");
  }
  std::vector<OfferedUrl> offered;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    const std::string_view line = without_blanks(body.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::string where = fmt::format("line {}", number);
    if (offered.size() == kMostOffered)
      return bad_offer(where, fmt::format("more than {} URLs", kMostOffered));
    if (!line.starts_with('{')) {
      offered.push_back({.url = std::string(line)});
      continue;
    }
    const json object = json::parse(line, nullptr, false);
    if (object.is_discarded()) return bad_offer(where, "not a JSON object");
    auto url = url_of_json(object, where);
    if (!url) return tl::unexpected(url.error());
    offered.push_back(std::move(*url));
  }
  if (offered.empty()) return bad_offer("the body", "no URLs in it");
  return offered;
}

}  // namespace trawl
