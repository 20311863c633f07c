#include "crawler/warc/cdxj_line.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crawler/warc/record_text.h"
#include "crawler/warc/surt.h"

namespace trawl {

namespace {

// Appends visible ASCII only: other bytes of `text` are omitted.
void append_json(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.append(out.ends_with('{') ? "\"" : ", \"").append(name).append("\": \"");
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20 && c < 0x7f) out += c;
  }
  out += '"';
}

std::optional<std::uint64_t> number_behind(std::string_view line, std::string_view name) {
  const std::size_t at = line.rfind(name);  // quotes from a server are escaped
  if (at == std::string_view::npos) return {};
  const char* const begin = line.data() + at + name.size();
  const char* const end = line.data() + line.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop == end || *stop != '"') return {};
  return number;
}

}  // namespace

std::string cdxj_start(const CdxjLine& facts) {
  const auto url = Url::parse(facts.url);
  std::string line = url ? surt(*url) : record_url(facts.url);
  line.append(" ").append(cdxj_timestamp(facts.date)).append(" {");
  append_json(line, "url", facts.url);
  append_json(line, "mime", facts.mime);
  append_json(line, "status", facts.status);
  append_json(line, "digest", facts.digest);
  return line;
}

std::string cdxj_end(std::uint64_t length, std::uint64_t offset, std::string_view file) {
  return fmt::format(", \"length\": \"{}\", \"offset\": \"{}\", \"filename\": \"{}\"}}\n", length,
                     offset, file);
}

std::optional<CdxjRecord> read_cdxj_line(std::string_view line) {
  constexpr std::size_t kDigits = 14;
  const std::size_t key = line.find(' ');
  const std::size_t fields = key == line.npos ? key : line.find(' ', key + 1);
  if (fields == line.npos || fields != key + 1 + kDigits) return {};
  const std::string_view t = line.substr(key + 1, kDigits);
  if (t.find_first_not_of("0123456789") != t.npos) return {};
  const auto json = nlohmann::json::parse(line.substr(fields + 1), nullptr, false);
  if (!json.is_object()) return {};
  const auto text = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return CdxjRecord{
      .url = text("url"),
      .date = fmt::format("{}-{}-{}T{}:{}:{}Z", t.substr(0, 4), t.substr(4, 2), t.substr(6, 2),
                          t.substr(8, 2), t.substr(10, 2), t.substr(12, 2)),
      .mime = text("mime"),
      .status = text("status"),
      .digest = text("digest")};
}

std::optional<CdxjLocation> cdxj_location(std::string_view line) {
  if (!line.ends_with("\"}")) return {};
  const auto length = number_behind(line, ", \"length\": \"");
  const auto offset = number_behind(line, ", \"offset\": \"");
  if (!length || !offset) return {};
  return CdxjLocation{*length, *offset};
}

}  // namespace trawl
