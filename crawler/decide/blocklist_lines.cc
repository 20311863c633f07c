#include "crawler/decide/blocklist_lines.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/file_line_reader.h"
#include "base/utf8.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 10;
constexpr std::string_view kSpaces = " \t\r";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(kSpaces) + 1));
  return text;
}

std::string_view without_comment(std::string_view line) {
  for (std::size_t hash = line.find('#'); hash != std::string_view::npos;
       hash = line.find('#', hash + 1)) {
    // Elsewhere a '#' begins the fragment of a URL.
    if (hash == 0 || kSpaces.find(line[hash - 1]) != std::string_view::npos)
      return line.substr(0, hash);
  }
  return line;
}

// Removes and returns the next word of `line`.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
  line = trimmed(line.substr(word.size()));
  return word;
}

// Addresses as in hosts files: "0.0.0.0", "::1", "fe80::1%lo0".
bool looks_like_address(std::string_view word) {
  const std::string_view digits = word.substr(0, word.find('%'));
  return digits.find_first_of(".:") != std::string_view::npos &&
         digits.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return out + (text.size() > kShown ? "..." : "");
}

tl::unexpected<Error> wrong(std::string_view word, std::string_view why) {
  return error(ErrorCode::kInvalidArgument, fmt::format("\"{}\" {}", shown(word), why));
}

class BlockedLine {
 public:
  BlockedLine(const Canonicalizer& canonicalizer, const std::function<void(std::string_view)>& take)
      : canonicalizer_(canonicalizer), take_(take) {}

  Result<void> read(std::string_view line) {
    line = trimmed(without_comment(line));
    if (line.empty()) return {};
    const std::string_view word = take_word(line);
    if (line.empty()) return word.find("://") != std::string_view::npos ? url(word) : host(word);
    if (!looks_like_address(word)) {
      return wrong(word,
                   "is followed by something else: write one URL, host or domain per line, or an "
                   "address and host names as in a hosts file");
    }
    while (!line.empty()) {
      const std::string_view name = take_word(line);
      if (name.find('.') == std::string_view::npos || looks_like_address(name)) continue;
      if (auto taken = host(name); !taken) return taken;
    }
    return {};
  }

 private:
  Result<void> url(std::string_view word) {
    if (const auto parsed = Url::parse_into(word, nullptr, url_); !parsed) {
      if (parsed.error().code == ErrorCode::kUnsupportedScheme) return {};
      return wrong(word, "is not a URL: " + parsed.error().message);
    }
    take_(canonicalizer_.key_view(url_, scratch_));
    return {};
  }

  Result<void> host(std::string_view word) {
    std::string_view name = word;
    if (name.starts_with("*.")) {
      name.remove_prefix(2);
    } else if (name.starts_with('.')) {
      name.remove_prefix(1);
    }
    // IPv6 addresses may be without brackets if no port follows.
    const bool bare_v6 = std::ranges::count(name, ':') > 1 && !name.starts_with('[');
    text_ = bare_v6 ? fmt::format("http://[{}]/", name) : fmt::format("http://{}/", name);
    if (name.empty() || name.find_first_of("/?#@\\*|^$") != std::string_view::npos ||
        !Url::parse_into(text_, nullptr, url_)) {
      return wrong(word, "is neither a URL nor the name of a host or domain");
    }
    const std::string group = politeness_group(url_);
    take_(group);
    if (word.starts_with("*.") || word.starts_with('.')) {
      if (!url_.host_is_ip() && !has_registrable_domain(group)) take_("." + group);
    }
    return {};
  }

  const Canonicalizer& canonicalizer_;
  const std::function<void(std::string_view)>& take_;
  Url url_;
  std::string scratch_;
  std::string text_;
};

Result<void> too_long() {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("the line is longer than {} KiB", kMaxLine >> 10));
}

// Collects errors of a file, one line for each; after the first ones they are only counted.
class WrongLines {
 public:
  void add(std::string_view file, std::uint64_t line, std::string_view why) {
    if (++count_ > kListed) return;
    text_ += fmt::format("{}{}:{}: {}", count_ == 1 ? "" : "\n", file, line, why);
  }
  Result<void> result() const {
    if (count_ == 0) return {};
    const std::uint64_t more = count_ - std::min(count_, kListed);
    return error(ErrorCode::kInvalidArgument,
                 more == 0 ? text_
                           : fmt::format("{}\nand {} more line{} that {} wrong", text_, more,
                                         more == 1 ? "" : "s", more == 1 ? "is" : "are"));
  }

 private:
  static constexpr std::uint64_t kListed = 100;
  std::uint64_t count_ = 0;
  std::string text_;
};

}  // namespace

Result<void> read_blocklist_lines(const InputFile& file, const Canonicalizer& canonicalizer,
                                  const std::function<void(std::string_view)>& take) {
  FileLineReader lines(file, kMaxLine);
  BlockedLine blocked(canonicalizer, take);
  WrongLines wrong;
  for (;;) {
    const auto more = lines.next();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return wrong.result();
    std::string_view line = lines.line();
    if (lines.number() == 1 && line.starts_with(kByteOrderMark))
      line.remove_prefix(kByteOrderMark.size());
    const auto read = lines.too_long() ? too_long() : blocked.read(line);
    if (!read) wrong.add(file.path(), lines.number(), read.error().message);
  }
}

}  // namespace trawl
