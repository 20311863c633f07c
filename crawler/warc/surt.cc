// The rules are those of the Internet Archive's `surt` package (0.3.1), its defaults, with which
// pywb and cdxj-indexer make their keys: https://github.com/internetarchive/surt
#include "crawler/warc/surt.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ascii.h"
#include "crawler/warc/session_ids.h"

namespace trawl {

namespace {

int hex_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char l = ascii_lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Decodes escapes until there are none, including those that decoding reveals. Escapes do not
// overlap, so their order makes no difference and one pass is enough.
std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    out += c;
    while (out.size() >= 3 && out[out.size() - 3] == '%') {
      const int high = hex_value(out[out.size() - 2]);
      const int low = hex_value(out.back());
      if (high < 0 || low < 0) break;
      out.resize(out.size() - 3);
      out += static_cast<char>(high << 4 | low);
    }
  }
  return out;
}

// Escapes once; in ascii_lower case, as all of a key is in the end.
std::string escaped(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c > ' ' && c < 0x7f && c != '#' && c != '%') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

void make_lower(std::string& text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Without ".", ".." and empty segments, which escapes had hidden from the URL's parser.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  if (path.starts_with('/')) path.remove_prefix(1);
  for (const std::string_view segment : split(path, '/')) {
    if (segment == ".") continue;
    if (segment == ".." && !kept.empty()) {
      kept.pop_back();
    } else {
      kept.push_back(segment);
    }
  }
  std::string out = "/";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    out += kept[i];
    if (i + 1 < kept.size() && !kept[i].empty()) out += '/';
  }
  return out;
}

std::string path_key(std::string_view path) {
  std::string key = escaped(without_dots(unescaped(path)));
  make_lower(key);
  strip_path_session_id(key);
  if (key.size() > 1 && key.ends_with('/')) key.pop_back();
  return key;
}

std::string query_key(std::string_view query) {
  std::string key = escaped(unescaped(query));
  strip_query_session_ids(key);
  make_lower(key);
  if (key.size() <= 1) return key;
  std::vector<std::string_view> parameters = split(key, '&');
  const auto order = [](std::string_view parameter) {
    const std::size_t equals = parameter.find('=');
    const bool has_value = equals != std::string_view::npos;
    return std::tuple(parameter.substr(0, equals), has_value,
                      has_value ? parameter.substr(equals + 1) : std::string_view());
  };
  std::sort(parameters.begin(), parameters.end(),
            [&](std::string_view a, std::string_view b) { return order(a) < order(b); });
  std::string sorted;
  sorted.reserve(key.size() + 1);
  for (const std::string_view parameter : parameters)
    sorted.append(parameter).append("&");
  sorted.pop_back();
  return sorted;
}

void strip_www(std::string_view& host) {
  if (!host.starts_with("www")) return;
  const std::size_t end = host.find_first_not_of("0123456789", 3);
  if (end != std::string_view::npos && host[end] == '.') host.remove_prefix(end + 1);
}

// "com,example"; IPv4 addresses are reversed like names.
std::string host_key(const Url& url) {
  std::string_view host = url.hostname();
  if (host.starts_with('[') && host.ends_with(']'))
    return std::string(host.substr(1, host.size() - 2));
  while (host.starts_with('.'))
    host.remove_prefix(1);
  while (host.ends_with('.'))
    host.remove_suffix(1);
  strip_www(host);
  std::vector<std::string_view> labels = split(host, '.');
  std::string key;
  key.reserve(host.size());
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    if (label->empty()) continue;
    if (!key.empty()) key += ',';
    key += *label;
  }
  return key;
}

}  // namespace

std::string surt(const Url& url) {
  std::string key = escaped(host_key(url));
  if (key.empty()) {
    key.append(url.scheme()).append(":");
  } else {
    if (!url.port().empty()) key.append(":").append(url.port());
    key += ')';
  }
  key += path_key(url.path());
  if (const std::string query = query_key(url.query()); !query.empty())
    key.append("?").append(query);
  return key;
}

}  // namespace trawl
