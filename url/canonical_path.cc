#include "url/canonical_path.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "url/percent_encoding.h"

namespace trawl {

namespace {

// "(S(lit3py55t21z5v55vlm25s55))": 24 letters and digits, the letters in any case.
bool is_cookieless_session(std::string_view segment) {
  constexpr std::string_view kPrefix = "(s(";
  constexpr std::string_view kSuffix = "))";
  constexpr std::size_t kIdBytes = 24;
  if (segment.size() != kPrefix.size() + kIdBytes + kSuffix.size()) return false;
  if (segment[0] != kPrefix[0] || ascii_lower(segment[1]) != kPrefix[1] || segment[2] != kPrefix[2])
    return false;
  const std::string_view id = segment.substr(kPrefix.size(), kIdBytes);
  return segment.ends_with(kSuffix) && std::all_of(id.begin(), id.end(), [](char byte) {
           return is_ascii_alpha(byte) || is_ascii_digit(byte);
         });
}

[[maybe_unused]] bool is_path(std::string_view text, std::size_t start) {
  return start < text.size() && text[start] == '/';
}

// Rewrites a text in place: the output never overtakes the input.
class InPlace {
 public:
  InPlace(std::string& text, std::size_t start) : text_(text), end_(start) {}
  std::size_t end() const { return end_; }
  void put(char byte) {
    assert(end_ < text_.size());
    text_[end_++] = byte;
  }
  void put(std::string_view piece) {
    for (const char byte : piece)  // the ranges may overlap, moving to the front
      put(byte);
  }
  void back_to(std::size_t end) {
    assert(end <= end_);
    end_ = end;
  }
  // Truncates the text to the output; returns whether it became shorter.
  bool finish() {
    const bool shorter = end_ < text_.size();
    text_.resize(end_);
    return shorter;
  }

 private:
  std::string& text_;
  std::size_t end_;
};

// Copies a segment without the session ids among its parameters. A segment whose name is only dots
// keeps them: otherwise it would become a dot segment.
void put_without_session_ids(InPlace& out, std::string_view segment, const NameMatcher& names) {
  std::size_t semicolon = std::min(segment.find(';'), segment.size());
  const std::string_view name = segment.substr(0, semicolon);
  if (name == "." || name == "..") return out.put(segment);
  out.put(name);
  while (semicolon < segment.size()) {
    const std::size_t next = std::min(segment.find(';', semicolon + 1), segment.size());
    const std::string_view parameter = segment.substr(semicolon, next - semicolon);
    if (!names.matches(parameter.substr(1, parameter.find('=') - 1))) out.put(parameter);
    semicolon = next;
  }
}

}  // namespace

bool drop_path_session_ids(std::string& text, std::size_t start, const NameMatcher& names) {
  assert(is_path(text, start));
  const std::string_view path(text);
  if (path.find(';', start) == path.npos && path.find('(', start) == path.npos) return false;
  InPlace out(text, start);
  for (std::size_t slash = start; slash < path.size();) {
    const std::size_t next = std::min(path.find('/', slash + 1), path.size());
    const std::size_t written = out.end();
    out.put('/');
    put_without_session_ids(out, path.substr(slash + 1, next - slash - 1), names);
    const std::string_view kept = path.substr(written + 1, out.end() - written - 1);
    if (is_cookieless_session(kept)) out.back_to(written);
    slash = next;
  }
  const bool emptied = out.end() == start;
  if (emptied) out.put('/');
  return out.finish();
}

bool merge_path_slashes(std::string& text, std::size_t start) {
  assert(is_path(text, start));
  const std::size_t first = text.find("//", start);
  if (first == std::string::npos) return false;
  InPlace out(text, first + 1);
  for (std::size_t i = first + 2; i < text.size(); ++i) {
    if (text[i] != '/' || text[i - 1] != '/') out.put(text[i]);
  }
  return out.finish();
}

bool lowercase_path(std::string& text, std::size_t start) {
  assert(is_path(text, start));
  bool changed = false;
  for (std::size_t i = start; i < text.size(); ++i) {
    if (text[i] == '%' && escape_length(text, i) != 0) {
      i += 2;
      continue;
    }
    const char lower = ascii_lower(text[i]);
    changed |= lower != text[i];
    text[i] = lower;
  }
  return changed;
}

void trim_path_end(std::string& text, std::size_t start, const NameMatcher* index_names,
                   bool slashes, RuleSet& fired) {
  assert(is_path(text, start));
  while (text.size() > start + 1) {
    if (text.back() == '/') {
      if (!slashes) return;
      text.pop_back();
      fired.insert(Rule::kDropTrailingSlash);
      continue;
    }
    if (index_names == nullptr) return;
    const std::size_t segment = text.rfind('/') + 1;
    if (!index_names->matches(std::string_view(text).substr(segment))) return;
    text.resize(segment);
    fired.insert(Rule::kDropIndex);
  }
}

}  // namespace trawl
