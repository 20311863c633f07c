#include "crawler/config/seed_file.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "base/text_file.h"
#include "base/utf8.h"
#include "crawler/config/config_values.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::size_t kMaxBadSeeds = 1000;

// The position and length of the next blank. A URL parser would drop most blanks or take them as
// part of the URL, so that two words become one URL.
struct Blank {
  std::size_t at;
  std::size_t size;
};
std::optional<Blank> find_blank(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte <= 0x20 || byte == 0x7f) return Blank{i, 1};
    for (const std::string_view wide :
         {"\xC2\xA0", "\xE3\x80\x80"}) {  // no-break space, ideographic space
      if (text.substr(i).starts_with(wide)) return Blank{i, wide.size()};
    }
  }
  return std::nullopt;
}

std::string_view without_leading_blanks(std::string_view line) {
  for (auto blank = find_blank(line); blank && blank->at == 0; blank = find_blank(line))
    line.remove_prefix(blank->size);
  return line;
}

// An error in a line.
struct WrongLine {
  std::uint32_t column;
  std::string message;
};

// The URL of a line; empty if the line has none.
tl::expected<std::string, WrongLine> read_line(std::string_view line, std::size_t max_url_length) {
  const std::string_view text = without_leading_blanks(line);
  if (text.empty() || text.starts_with('#')) return std::string();
  const auto wrong = [line](std::string_view part, std::string message) {
    return tl::unexpected(
        WrongLine{static_cast<std::uint32_t>(part.data() - line.data() + 1), std::move(message)});
  };
  const auto blank = find_blank(text);
  const std::string_view word = text.substr(0, blank ? blank->at : text.size());
  const std::string_view rest = without_leading_blanks(text.substr(word.size()));
  const auto url = Url::parse(word);
  if (!url) {
    return wrong(word, fmt::format("expected an http(s) URL; found {} ({})",
                                   shown(rest.empty() ? word : text), url.error().message));
  }
  if (!rest.empty() && !rest.starts_with('#')) {
    return wrong(rest, fmt::format("expected one URL on the line; found {} after {}", shown(rest),
                                   shown(word)));
  }
  if (url->href().size() > max_url_length) {
    return wrong(word, fmt::format("the URL has {} bytes, more than scope.max_url_length = {}: {}",
                                   url->href().size(), max_url_length, shown(word)));
  }
  return std::string(url->href());
}

}  // namespace

tl::expected<std::vector<std::string>, FileErrors> read_seed_file(const std::filesystem::path& file,
                                                                  std::size_t max_url_length) {
  const std::string name = file.string();
  const auto text = read_text_file(file, kMaxBytes);
  if (!text) {
    FileErrors errors;
    errors.listed.push_back({name, 0, 0, "crawl.seed_file: " + text.error()});
    return tl::unexpected(std::move(errors));
  }
  std::vector<std::string> seeds;
  FileErrors errors;
  std::string_view rest = *text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (std::uint32_t line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t length = rest.find('\n');
    auto seed = read_line(rest.substr(0, length), max_url_length);
    rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
    if (!seed) {
      errors.add({name, line_number, seed.error().column, std::move(seed.error().message)},
                 kMaxBadSeeds);
    } else if (!seed->empty()) {
      seeds.push_back(std::move(*seed));
    }
  }
  if (!errors.listed.empty()) return tl::unexpected(std::move(errors));
  return seeds;
}

}  // namespace trawl
