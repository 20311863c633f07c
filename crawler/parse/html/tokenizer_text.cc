#include "crawler/parse/html/tokenizer_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace trawl {

namespace {

std::size_t distance(const char* start, const char* end) {
  return static_cast<std::size_t>(end - start);
}

// Whether [start, end) begins with `word`.
bool begins_with(const char* start, const char* end, std::string_view word) {
  return starts_with_in_any_case({start, distance(start, end)}, word);
}

bool ends_tag_name(char byte) {
  return is_html_white_space(byte) || byte == '/' || byte == '>';
}

// Whether `name`, followed by a byte that ends a name, is at `start`.
bool is_name(const char* start, const char* end, std::string_view name) {
  return distance(start, end) > name.size() && begins_with(start, end, name) &&
         ends_tag_name(start[name.size()]);
}

// Whether `open`, a '<', begins the end tag of `name`.
bool is_end_tag(const char* open, const char* end, std::string_view name) {
  return distance(open, end) > 2 && open[1] == '/' && is_ascii_alpha(open[2]) &&
         is_name(open + 2, end, name);
}

const char* find_end_tag(const char* start, const char* end, std::string_view name) {
  const char* open = find_byte(start, end, '<');
  while (open != end && !is_end_tag(open, end, name))
    open = find_byte(open + 1, end, '<');
  return open;
}

// Script data after "<!--": the escaped and double escaped states.
struct EscapedScript {
  const char* position;
  bool ended;  // at the end tag or the end of the page; otherwise after "-->"
};

EscapedScript skip_escaped(const char* dashes, const char* end, std::string_view name) {
  bool twice = false;
  for (const char* p = dashes + 2; p != end; ++p) {
    if (*p == '>') {
      if (p[-1] == '-' && p[-2] == '-') return {p + 1, false};
    } else if (*p == '<') {
      if (!twice && is_end_tag(p, end, name)) return {p, true};
      if (twice) {
        if (p + 1 != end && p[1] == '/' && is_name(p + 2, end, "script")) twice = false;
      } else {
        twice = is_name(p + 1, end, "script");
      }
    }
  }
  return {end, true};
}

const char* find_script_end(const char* start, const char* end, std::string_view name) {
  for (const char* open = find_byte(start, end, '<'); open != end;) {
    if (is_end_tag(open, end, name)) return open;
    const char* go_on = open + 1;
    if (begins_with(open, end, "<!--")) {
      const EscapedScript escaped = skip_escaped(open + 2, end, name);
      if (escaped.ended) return escaped.position;
      go_on = escaped.position;
    }
    open = find_byte(go_on, end, '<');
  }
  return end;
}

void set_text(TokenizerState& state, const char* text, const char* text_end, const char* go_on) {
  state.text = text;
  state.text_end = text_end;
  state.position = go_on;
}

// Reads up to the first '>'.
void read_bogus_comment(TokenizerState& state, const char* text) {
  const char* const close = find_byte(text, state.end, '>');
  set_text(state, text, close, close == state.end ? close : close + 1);
}

// The end of an unfinished comment: an incomplete "-->" is not part of it.
const char* unfinished_end(const char* text, const char* end) {
  const std::string_view comment(text, distance(text, end));
  for (const std::string_view close : {"--!", "--", "-"}) {
    if (comment.ends_with(close)) return end - close.size();
  }
  return end;
}

// `text`: after "<!--".
void read_comment(TokenizerState& state, const char* text) {
  const char* const end = state.end;
  if (begins_with(text, end, ">")) return set_text(state, text, text, text + 1);
  if (begins_with(text, end, "->")) return set_text(state, text, text, text + 2);
  for (const char* close = find_byte(text, end, '>'); close != end;
       close = find_byte(close + 1, end, '>')) {
    const std::string_view comment(text, distance(text, close));
    if (comment.ends_with("--")) return set_text(state, text, close - 2, close + 1);
    if (comment.ends_with("--!")) return set_text(state, text, close - 3, close + 1);
  }
  set_text(state, text, unfinished_end(text, end), end);
}

// `text`: after "<![CDATA[".
void read_cdata(TokenizerState& state, const char* text) {
  const char* const end = state.end;
  for (const char* close = find_byte(text, end, '>'); close != end;
       close = find_byte(close + 1, end, '>')) {
    if (std::string_view(text, distance(text, close)).ends_with("]]")) {
      return set_text(state, text, close - 2, close + 1);
    }
  }
  set_text(state, text, end, end);
}

}  // namespace

const char* find_byte(const char* start, const char* end, char byte) noexcept {
  if (start == end) return end;
  const void* const found = std::memchr(start, byte, distance(start, end));
  return found == nullptr ? end : static_cast<const char*>(found);
}

const char* leave_raw_text(TokenizerState& state) noexcept {
  const ContentModel model = state.model;
  if (model == ContentModel::kPlaintext) return state.end;
  state.model = ContentModel::kData;
  const auto find = model == ContentModel::kScriptData ? find_script_end : find_end_tag;
  return find(state.position, state.end, state.end_tag);
}

TokenKind read_declaration(TokenizerState& state) noexcept {
  const char* const open = state.position;
  const char* const end = state.end;
  state.token = open;
  if (begins_with(open, end, "</>")) {
    set_text(state, open, open, open + 3);
    return TokenKind::kText;
  }
  if (begins_with(open, end, "<!--")) {
    read_comment(state, open + 4);
    return TokenKind::kComment;
  }
  if (begins_with(open, end, "<!doctype")) {
    read_bogus_comment(state, open + 9);
    return TokenKind::kDoctype;
  }
  constexpr std::string_view kCdata = "<![CDATA[";
  if (state.cdata_allowed && std::string_view(open, distance(open, end)).starts_with(kCdata)) {
    read_cdata(state, open + kCdata.size());
    return TokenKind::kCdata;
  }
  read_bogus_comment(state, open[1] == '?' ? open + 1 : open + 2);
  return TokenKind::kComment;
}

const char* read_odd_attribute(TokenizerState& state, const char* name, const char* name_end) {
  const char* const end = state.end;
  const char* value = name_end;
  const char* value_end = name_end;
  const char* p = name_end;
  while (p != end && is_html_white_space(*p))
    ++p;
  if (p == end || *p != '=') {
    p = name_end;
  } else {
    do
      ++p;
    while (p != end && is_html_white_space(*p));
    if (p == end) return end;
    if (*p == '"' || *p == '\'') {
      value = p + 1;
      value_end = find_byte(value, end, *p);
      if (value_end == end) return end;
      p = value_end + 1;
    } else {
      value = p;
      while (p != end && *p != '>' && !is_html_white_space(*p))
        ++p;
      value_end = p;
    }
  }
  const auto offset = [&state](const char* at) {
    return static_cast<std::uint32_t>(at - state.begin);
  };
  if (!state.attributes.has_room()) state.attributes.make_room();
  state.attributes.push_back({.name = offset(name),
                              .name_end = offset(name_end),
                              .value = offset(value),
                              .value_end = offset(value_end)});
  return p;
}

TokenKind end_of_page(TokenizerState& state) noexcept {
  state.attributes.clear();
  state.self_closing = false;
  state.token = state.end;
  set_text(state, state.end, state.end, state.end);
  return TokenKind::kEnd;
}

}  // namespace trawl
