#include "trawl/canonicalizer.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "url/canonical_path.h"
#include "url/canonical_query.h"
#include "url/compiled_profile.h"
#include "url/percent_encoding.h"
#include "url/registrable_domain.h"

namespace trawl {

namespace {

// RFC 3986 section 2.3: escaping these bytes never changes the meaning.
constexpr AsciiSet kUnreserved =
    AsciiSet().with_range('a', 'z').with_range('A', 'Z').with_range('0', '9').with("-._~");
constexpr AsciiSet kNothing;

bool is_lossless(const CanonicalRules& rules) {
  const auto infos = rule_infos();
  return std::none_of(infos.begin(), infos.end(), [&](const RuleInfo& info) {
    return info.enabled != nullptr && rules.*info.enabled;
  });
}

bool is_lossless(const Profile& profile) {
  return is_lossless(profile.rules) &&
         std::all_of(profile.hosts.begin(), profile.hosts.end(),
                     [](const HostRules& host) { return is_lossless(host.rules); });
}

// Appends `text` with escapes in upper-case hex, and with escapes of `decoded` bytes decoded.
//
// A '%' that does not start an escape stays, so decoding must not produce two hex digits after it:
// "%%34%31" would become "%41", whose own key is "A".
void append_normalized(std::string_view text, const AsciiSet& decoded, std::string& out,
                       RuleSet& fired) {
  std::size_t bare_percent = std::string::npos;  // position of the last one in `out`
  const auto would_complete_escape = [&](char byte) {
    if (bare_percent == std::string::npos || hex_value(byte) < 0) return false;
    const std::size_t behind = out.size() - bare_percent - 1;
    return behind == 0 || (behind == 1 && hex_value(out.back()) >= 0);
  };
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t percent = text.find('%', position);
    out.append(text.substr(position, percent - position));
    if (percent == std::string_view::npos) return;
    if (escape_length(text, percent) == 0) {
      bare_percent = out.size();
      out.push_back('%');
      position = percent + 1;
      continue;
    }
    const char byte = escaped_byte(text, percent);
    if (decoded.contains(byte) && !would_complete_escape(byte)) {
      out.push_back(byte);
      fired.insert(Rule::kDecodeUnreserved);
    } else {
      append_escape(byte, out);
      if (!out.ends_with(text.substr(percent + 1, 2))) fired.insert(Rule::kUppercaseEscapes);
    }
    position = percent + 3;
  }
}

// A host name without its final dot. If it ends with several dots, which is not a valid name, none
// is dropped: a key with one dot less would not be its own key.
std::string_view without_root(std::string_view hostname) {
  const std::string_view name = without_trailing_dot(hostname);
  return name.ends_with('.') ? hostname : name;
}

// Appends the host and port. `hostname` is all or the end of the URL's host.
void append_host(const Url& url, std::string_view hostname, std::string& out, RuleSet& fired) {
  const std::string_view name = without_root(hostname);
  if (name.size() != hostname.size()) fired.insert(Rule::kDropTrailingDot);
  out.append(name);
  assert(url.hostname().ends_with(hostname));
  const char* const port = hostname.data() + hostname.size();
  out.append(port, static_cast<std::size_t>(url.path().data() - port));
}

void append_lossless(const Url& url, std::string& out, RuleSet& fired) {
  const std::string_view text = url.href_without_fragment();
  const auto offset = [&](std::string_view part) {
    return static_cast<std::size_t>(part.data() - text.data());
  };
  append_normalized(text.substr(0, offset(url.hostname())), kNothing, out, fired);
  append_host(url, url.hostname(), out, fired);
  const std::size_t path_start = offset(url.path());
  append_normalized(text.substr(path_start), kUnreserved, out, fired);
}

// Appends everything before the path. `hostname` is the name to write: all or the end of the URL's
// host.
void append_origin(const Url& url, const CompiledRules& rules, std::string_view hostname,
                   std::string& out, RuleSet& fired) {
  const std::string_view text = url.href_without_fragment();
  const auto offset = [&](std::string_view part) {
    return static_cast<std::size_t>(part.data() - text.data());
  };
  // https://h:80/ is not the server of http://h/, and a URL http://h:80/ does not exist in normal
  // form.
  if (rules.on.ignore_scheme && url.scheme() == "https" && url.port() != "80") {
    out.append("http");
    fired.insert(Rule::kIgnoreScheme);
  } else {
    out.append(url.scheme());
  }
  const std::size_t scheme_end = url.scheme().size();
  append_normalized(text.substr(scheme_end, offset(url.hostname()) - scheme_end), kNothing, out,
                    fired);
  append_host(url, hostname, out, fired);
}

void append_path(const Url& url, const CompiledRules& rules, std::string& out, RuleSet& fired) {
  const std::size_t start = out.size();
  const auto note = [&fired](bool changed, Rule rule) {
    if (changed) fired.insert(rule);
  };
  append_normalized(url.path(), kUnreserved, out, fired);
  if (rules.on.drop_session_ids) {
    note(drop_path_session_ids(out, start, rules.session_ids), Rule::kDropSessionIds);
  }
  if (rules.on.merge_slashes) note(merge_path_slashes(out, start), Rule::kMergeSlashes);
  if (rules.on.lowercase_path) note(lowercase_path(out, start), Rule::kLowercasePath);
  trim_path_end(out, start, rules.on.drop_index ? &rules.index_names : nullptr,
                rules.on.drop_trailing_slash, fired);
}

// A query without remaining parameters loses its '?' too.
void append_query(const Url& url, const CompiledRules& rules, std::string& out, RuleSet& fired) {
  if (!url.has_query()) return;
  out.push_back('?');
  const std::size_t start = out.size();
  append_normalized(url.query(), kUnreserved, out, fired);
  bool dropped = false;
  const auto drop = [&](bool enabled, const NameMatcher& names, Rule rule) {
    if (!enabled || !drop_query_parameters(out, start, names)) return;
    dropped = true;
    fired.insert(rule);
  };
  drop(rules.on.drop_parameters, rules.parameters, Rule::kDropParameters);
  drop(rules.on.drop_session_ids, rules.session_ids, Rule::kDropSessionIds);
  if (rules.on.sort_query && sort_query_parameters(out, start)) fired.insert(Rule::kSortQuery);
  if (out.size() > start || !(dropped || rules.on.drop_empty_query)) return;
  out.pop_back();
  if (!dropped) fired.insert(Rule::kDropEmptyQuery);
}

}  // namespace

Canonicalizer::Canonicalizer(Profile profile)
    : profile_(std::move(profile)),
      compiled_(is_lossless(profile_) ? nullptr
                                      : std::make_shared<const CompiledProfile>(profile_)) {}

std::string Canonicalizer::key(const Url& url) const {
  std::string out;
  key_into(url, out);
  return out;
}

void Canonicalizer::key_into(const Url& url, std::string& out, RuleSet& fired) const {
  fired = RuleSet();
  rewrite(url, out, &fired);
}

void Canonicalizer::rewrite(const Url& url, std::string& out, RuleSet* fired) const {
  RuleSet changed;
  out.clear();
  out.reserve(url.href_without_fragment().size());
  if (compiled_ == nullptr) {
    append_lossless(url, out, changed);
  } else {
    std::string_view hostname = url.hostname();
    const CompiledRules& rules = compiled_->rules_for_key(hostname);
    if (hostname.size() != url.hostname().size()) changed.insert(Rule::kDropWww);
    append_origin(url, rules, hostname, out, changed);
    append_path(url, rules, out, changed);
    append_query(url, rules, out, changed);
  }
  if (url.has_fragment()) changed.insert(Rule::kDropFragment);
  if (fired != nullptr) *fired = changed;
}

}  // namespace trawl
