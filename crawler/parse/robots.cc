#include "trawl/robots.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace trawl {
namespace {

constexpr std::size_t kMaxBytes = 500u << 10;  // RFC 9309, section 2.5: at least this much
constexpr std::size_t kMaxLine = 16u << 10;
constexpr double kMaxDelaySeconds = 24 * 60 * 60;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return to_lower(c); });
  return lower;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// The product token at the start of `agent` in lower case: "Trawl" of "Trawl/1.0 (+http://...)".
// The RFC's tokens have no digits, but real crawlers' names do.
std::string product_token(std::string_view agent) {
  std::size_t length = 0;
  while (length < agent.size() &&
         (is_alphanumeric(agent[length]) || agent[length] == '-' || agent[length] == '_')) {
    ++length;
  }
  return to_lower(agent.substr(0, length));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void append_escaped(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out += '%';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// What stays as it is, in patterns and in URLs: RFC 3986's unreserved and reserved characters and
// '%'. Not "'", which URL parsers escape in queries.
bool is_plain(char c) {
  constexpr std::string_view kPlain = "-._~:/?#[]@!&()+,;=%";
  return is_alphanumeric(c) || kPlain.find(c) != std::string_view::npos;
}

// Brings a path or a pattern into the form in which they are compared (RFC 9309, section 2.2.2):
// unreserved characters bare, all else that is not plain escaped, with upper case digits. '*' and
// '$' mean themselves in a URL only, so there they are escaped, as patterns must write them.
std::string normalize(std::string_view text, bool is_pattern) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      const char byte = static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      const bool unreserved =
          is_alphanumeric(byte) || byte == '-' || byte == '.' || byte == '_' || byte == '~';
      if (unreserved) {
        out += byte;
      } else {
        append_escaped(out, static_cast<unsigned char>(byte));
      }
      i += 2;
    } else if (is_plain(c) || (c == '*' && is_pattern)) {
      out += c;
    } else {
      append_escaped(out, static_cast<unsigned char>(c));
    }
  }
  return out;
}

// A set of the bytes in `text`, folded to 64 bits: if `a` has bits that `b` has not, `b` lacks a
// byte of `a`.
std::uint64_t byte_set(std::string_view text) {
  std::uint64_t set = 0;
  for (const char c : text)
    set |= std::uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  return set;
}

// One Allow or Disallow line.
struct Rule {
  std::string pattern;      // normalised, without a final '$'
  std::size_t octets = 0;   // of the whole pattern: the longest match wins
  std::size_t literal = 0;  // octets that are no '*': no shorter URL can match
  std::uint64_t bytes = 0;  // byte_set() of those: no URL without them can match
  bool allow = false;
  bool anchored = false;  // ended in '$'

  static Rule make(std::string_view value, bool allow) {
    Rule rule;
    rule.allow = allow;
    rule.anchored = value.ends_with('$');
    if (rule.anchored) value.remove_suffix(1);
    rule.pattern = normalize(value, true);
    rule.octets = rule.pattern.size() + (rule.anchored ? 1 : 0);
    std::string literal = rule.pattern;
    std::erase(literal, '*');
    rule.literal = literal.size();
    rule.bytes = byte_set(literal);
    return rule;
  }

  bool matches(std::string_view target) const;

  // Longest first, Allow before Disallow; the rest only brings equal rules together.
  friend bool operator<(const Rule& a, const Rule& b) {
    return std::tie(b.octets, b.allow, a.anchored, a.pattern) <
           std::tie(a.octets, a.allow, b.anchored, b.pattern);
  }
  friend bool operator==(const Rule& a, const Rule& b) {
    return a.allow == b.allow && a.anchored == b.anchored && a.pattern == b.pattern;
  }
};

// Takes each literal between two '*' at its first place after the one before. If the pattern
// matches at all it matches so, and never looking back makes it linear in target and pattern.
bool Rule::matches(std::string_view target) const {
  if (literal > target.size()) return false;
  std::string_view rest = pattern;
  std::size_t star = rest.find('*');
  if (!target.starts_with(rest.substr(0, star))) return false;
  if (star == std::string_view::npos) return !anchored || target.size() == rest.size();
  target.remove_prefix(star);
  rest.remove_prefix(star + 1);
  while ((star = rest.find('*')) != std::string_view::npos) {
    if (star > 0) {
      const void* found = memmem(target.data(), target.size(), rest.data(), star);
      if (found == nullptr) return false;
      target.remove_prefix(
          static_cast<std::size_t>(static_cast<const char*>(found) - target.data()) + star);
    }
    rest.remove_prefix(star + 1);
  }
  if (anchored) return target.ends_with(rest);
  return memmem(target.data(), target.size(), rest.data(), rest.size()) != nullptr;
}

// "1.5" -> 1500 ms, rounded up. Nothing for what is no number of seconds within a day.
std::optional<std::chrono::milliseconds> parse_delay(std::string_view value) {
  double seconds = -1;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
  const bool sensible = seconds >= 0 && seconds <= kMaxDelaySeconds;  // false for NaN
  if (error != std::errc() || stop != end || !sensible) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

// The rules below one run of User-agent lines.
struct Group {
  std::vector<Rule> rules;  // longest first, Allow before Disallow
  std::optional<std::chrono::milliseconds> delay;
};

struct ParsedRobots {
  std::vector<Group> groups;
  // (agent in lower case or "*", index into groups), sorted: an agent may have several groups, and
  // a group several agents.
  std::vector<std::pair<std::string, std::size_t>> agents;
  std::vector<std::string> sitemaps;

  // The agents entries that hold for `agent`: its own, or else those of "*".
  std::pair<std::size_t, std::size_t> entries_of(std::string_view agent) const {
    const std::string token = product_token(agent);
    auto range = entries_named(token);
    return range.first == range.second ? entries_named("*") : range;
  }

  std::pair<std::size_t, std::size_t> entries_named(std::string_view token) const {
    const auto first = std::partition_point(agents.begin(), agents.end(),
                                            [&](const auto& entry) { return entry.first < token; });
    const auto last = std::partition_point(first, agents.end(),
                                           [&](const auto& entry) { return entry.first == token; });
    return {static_cast<std::size_t>(first - agents.begin()),
            static_cast<std::size_t>(last - agents.begin())};
  }
};

template <class T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Reads a robots.txt line by line. Sitemap and unknown lines may stand anywhere; a User-agent line
// after a rule begins the next group.
class Reader {
 public:
  explicit Reader(ParsedRobots& rules) : rules_(rules) {}

  void read(std::string_view bytes);

 private:
  void read_line(std::string_view line);
  void read_agent(std::string_view value);
  void read_rule(std::string_view value, bool allow);
  void read_delay(std::string_view value);
  void read_sitemap(std::string_view value);

  ParsedRobots& rules_;
  bool naming_agents_ = false;  // the last line of a group so far was a User-agent line
};

void Reader::read(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  // A line that is cut off is not read: the rest of a path is another path.
  if (bytes.size() > kMaxBytes) {
    const std::size_t end = bytes.find_last_of("\r\n", kMaxBytes);
    bytes = bytes.substr(0, end == std::string_view::npos ? 0 : end);
  }
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    read_line(bytes.substr(0, std::min(end, kMaxLine)));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  for (Group& group : rules_.groups) {
    sort_unique(group.rules);
  }
  sort_unique(rules_.agents);
}

void Reader::read_line(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string field = to_lower(trim(line.substr(0, colon)));
  const std::string_view value = trim(line.substr(colon + 1));
  if (field == "user-agent") {
    read_agent(value);
  } else if (field == "allow") {
    read_rule(value, true);
  } else if (field == "disallow") {
    read_rule(value, false);
  } else if (field == "crawl-delay") {
    read_delay(value);
  } else if (field == "sitemap") {
    read_sitemap(value);
  }
}

void Reader::read_agent(std::string_view value) {
  if (!naming_agents_) rules_.groups.emplace_back();
  naming_agents_ = true;
  const bool any = value.starts_with('*') && product_token(value.substr(1)).empty();
  std::string token = any ? "*" : product_token(value);
  if (!token.empty()) rules_.agents.emplace_back(std::move(token), rules_.groups.size() - 1);
}

void Reader::read_rule(std::string_view value, bool allow) {
  naming_agents_ = false;
  if (rules_.groups.empty() || value.empty()) return;
  rules_.groups.back().rules.push_back(Rule::make(value, allow));
}

// Crawl-delay is a rule of its group like the others: a User-agent line after it begins the next
// group, or a delay for everyone would take over the rules of the bots named after it.
void Reader::read_delay(std::string_view value) {
  naming_agents_ = false;
  if (rules_.groups.empty()) return;
  auto& delay = rules_.groups.back().delay;
  const auto given = parse_delay(value);
  if (given && (!delay || *given < *delay)) delay = given;
}

void Reader::read_sitemap(std::string_view value) {
  if (auto url = Url::parse(value)) rules_.sitemaps.emplace_back(url->href());
}

}  // namespace

struct Robots::Rules : ParsedRobots {};

Robots Robots::parse(std::string_view bytes) {
  auto rules = std::make_shared<Rules>();
  Reader(*rules).read(bytes);
  return Robots(std::move(rules));
}

Robots Robots::allow_all() {
  return parse("");
}

Robots Robots::disallow_all() {
  return parse("User-agent: *\nDisallow: /\n");
}

bool Robots::allowed(std::string_view agent, const Url& url) const {
  if (url.path() == "/robots.txt" && !url.has_query()) return true;
  std::string target(url.path());
  if (url.has_query()) target.append("?").append(url.query());
  target = normalize(target, false);

  const std::uint64_t bytes = byte_set(target);
  const Rule* best = nullptr;
  const auto [first, last] = rules_->entries_of(agent);
  for (std::size_t i = first; i < last; ++i) {
    for (const Rule& rule : rules_->groups[rules_->agents[i].second].rules) {
      if (best != nullptr && (rule.octets < best->octets ||
                              (rule.octets == best->octets && rule.allow <= best->allow))) {
        break;
      }
      if ((rule.bytes & ~bytes) == 0 && rule.matches(target)) best = &rule;
    }
  }
  return best == nullptr || best->allow;
}

std::optional<std::chrono::milliseconds> Robots::crawl_delay(std::string_view agent) const {
  std::optional<std::chrono::milliseconds> shortest;
  const auto [first, last] = rules_->entries_of(agent);
  for (std::size_t i = first; i < last; ++i) {
    const auto& delay = rules_->groups[rules_->agents[i].second].delay;
    if (delay && (!shortest || *delay < *shortest)) shortest = delay;
  }
  return shortest;
}

const std::vector<std::string>& Robots::sitemaps() const noexcept {
  return rules_->sitemaps;
}

}  // namespace trawl
