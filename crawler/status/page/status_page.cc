#include "crawler/status/page/status_page.h"

#include "crawler/status/page/status_page_text.h"

namespace trawl {

namespace {

struct PageParts {
  std::string_view token;
  std::string_view nonce;
  std::string_view policy;  // empty: the header of the answer has it
  std::string_view report;  // JSON; empty: live
};

void append_attribute(std::string& out, std::string_view value) {
  for (const char c : value) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '<':
        out += "&lt;";
        break;
      default:
        out += c;
    }
  }
}

// In JSON "<" is only in strings: so escaped, no text can end the script element or open a comment.
void append_json(std::string& out, std::string_view json) {
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
}

void append_meta(std::string& out, std::string_view attribute, std::string_view name,
                 std::string_view value) {
  out += "<meta ";
  out += attribute;
  out += "=\"";
  out += name;
  out += "\" content=\"";
  append_attribute(out, value);
  out += "\">\n";
}

void append_part(std::string& out, std::string_view name, const PageParts& parts) {
  if (name == "nonce") {
    append_attribute(out, parts.nonce);
  } else if (name == "style") {
    out += kStatusPageStyle;
  } else if (name == "script") {
    out += kStatusPageScript;
  } else if (name == "meta") {
    if (!parts.policy.empty())
      append_meta(out, "http-equiv", "Content-Security-Policy", parts.policy);
    if (!parts.token.empty()) append_meta(out, "name", "trawl-token", parts.token);
  } else if (name == "report" && !parts.report.empty()) {
    out += "<script type=\"application/json\" id=\"report\">";
    append_json(out, parts.report);
    out += "</script>\n";
  }
}

// What is put in is not looked through for further places.
std::string fill_in(const PageParts& parts) {
  std::string out;
  out.reserve(kStatusPageHtml.size() + kStatusPageStyle.size() + kStatusPageScript.size() +
              parts.report.size() + 1024);
  std::string_view rest = kStatusPageHtml;
  for (;;) {
    const std::size_t begin = rest.find("{{");
    const std::size_t end = rest.find("}}", begin);
    if (end == std::string_view::npos) break;
    out += rest.substr(0, begin);
    append_part(out, rest.substr(begin + 2, end - begin - 2), parts);
    rest.remove_prefix(end + 2);
  }
  out += rest;
  return out;
}

}  // namespace

std::string status_page(std::string_view token, std::string_view nonce) {
  return fill_in({.token = token, .nonce = nonce, .policy = {}, .report = {}});
}

std::string status_page_policy(std::string_view nonce) {
  const std::string source = "'nonce-" + std::string(nonce) + "'";
  return "default-src 'none'; script-src " + source + "; style-src " + source +
         "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

std::string report_page(std::string_view json) {
  // A file has no header. Its text is fixed when it is written: so may its nonce be.
  constexpr std::string_view kPolicy =
      "default-src 'none'; script-src 'nonce-report'; style-src 'nonce-report'; img-src data:; "
      "base-uri 'none'; form-action 'none'";
  return fill_in({.token = {}, .nonce = "report", .policy = kPolicy, .report = json});
}

}  // namespace trawl
