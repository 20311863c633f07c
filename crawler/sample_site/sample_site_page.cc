#include "crawler/sample_site/sample_site_page.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crawler/sample_site/sample_web.h"

namespace trawl {

namespace {

constexpr std::uint64_t kPagePurpose = 100;

enum class Shape { kPlain, kUpperCase, kFrameset };

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// `target` relative to a page at `from`; both are paths with queries.
std::string relative_path(std::string_view from, std::string_view target) {
  const std::string_view from_path = from.substr(0, from.find('?'));
  const std::string_view target_path = target.substr(0, target.find('?'));
  if (from_path == target_path && target_path != target) {
    return std::string(target.substr(target_path.size()));
  }
  std::size_t common = 0;  // bytes up to and including the last shared '/'
  for (std::size_t i = 0; i < std::min(from_path.size(), target_path.size()); ++i) {
    if (from_path[i] != target_path[i]) break;
    if (from_path[i] == '/') common = i + 1;
  }
  std::string relative;
  for (std::size_t i = common; i < from_path.size(); ++i) {
    if (from_path[i] == '/') relative += "../";
  }
  relative += target.substr(common);
  return relative.empty() ? "./" : relative;
}

class PageWriter {
 public:
  PageWriter(const SampleWeb& web, std::uint64_t page)
      : web_(web), page_(page), state_(web.random(page, kPagePurpose)), base_(self()) {
    const std::uint64_t shape = pick(12);
    shape_ = shape == 0 ? Shape::kFrameset : shape == 1 ? Shape::kUpperCase : Shape::kPlain;
    if (pick(9) == 0) base_ = {SampleKind::kPage, pick(web.pages())};
  }

  std::string write() {
    if (base_ != self()) {
      head_ += tag("base", "href", web_.url_of(base_)) + tag("base", "href", "/trap/second-base/");
    }
    for (const std::uint64_t child : web_.children(page_))
      link({SampleKind::kPage, child});
    for (const SampleResource& extra : web_.extras(page_))
      link(extra);
    for (int i = 0; i < 4; ++i)
      link({SampleKind::kPage, pick(web_.pages())});
    link({SampleKind::kPage, web_.parent(page_)});
    link({SampleKind::kPage, web_.parent(page_)});
    link(self());
    if (page_ < web_.hosts() || pick(16) == 0) link({SampleKind::kOutside, page_});
    if (shape_ == Shape::kPlain) odd_links();
    if (shape_ != Shape::kFrameset) fill();
    return document();
  }

 private:
  SampleResource self() const { return {SampleKind::kPage, page_}; }

  std::uint64_t pick(std::uint64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % below;
  }

  // One of several ways to write a URL of `target`.
  std::string reference(const SampleResource& target) {
    std::string path = web_.path_of(target);
    const std::string origin = web_.origin_of(target);
    const std::string base_path = web_.path_of(base_);
    const bool same_host = origin == web_.origin_of(base_);
    std::string text;
    switch (pick(same_host ? 8 : 3)) {
      case 0:
        text = origin + path;
        break;
      case 1:
        text = origin.substr(origin.find("//")) + path;
        break;
      case 2:
        text = replaced(origin, "http:", "HTTP:") + path;
        break;
      case 3:
        text = path;
        break;
      case 4:
        text = "/docs/./../list/.." + path;
        break;
      case 5:
        text = dotted(relative_path(base_path, path));
        break;
      default:
        text = relative_path(base_path, path);
        break;
    }
    text = respelled(std::move(text));
    if (pick(6) == 0) text += fmt::format("#part-{}", pick(9));
    return text;
  }

  static std::string dotted(std::string relative) {
    return relative.starts_with('.') || relative.starts_with('?') ? relative : "./" + relative;
  }

  std::string respelled(std::string text) {
    constexpr std::string_view kTildes[]{"~", "%7e", "%7E"};
    constexpr std::string_view kAccents[]{"%C3%A9", "%c3%a9", "\xc3\xa9"};
    text = replaced(std::move(text), "~", kTildes[pick(3)]);
    return replaced(std::move(text), "%C3%A9", kAccents[pick(3)]);
  }

  std::string tag(std::string_view name, std::string_view attribute, std::string_view url,
                  std::string_view more = "") const {
    const std::string value = replaced(std::string(url), "&", "&amp;");
    if (shape_ != Shape::kUpperCase) {
      return fmt::format("<{} {}=\"{}\"{}>", name, attribute, value, more);
    }
    std::string upper = fmt::format("{} {}", name, attribute);
    for (char& c : upper)
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return fmt::format("<{}={}{}>", upper, value, more);
  }

  void link(const SampleResource& target) {
    std::string text = reference(target);
    if (shape_ == Shape::kFrameset) {
      body_ += tag("frame", "src", text);
      return;
    }
    if (shape_ == Shape::kPlain && pick(12) == 0) text = "\n  " + text + "\t";
    switch (pick(8)) {
      case 0:
        head_ += tag("link", "href", text, " rel=next");
        break;
      case 1:
        body_ += tag("iframe", "src", text) + "</iframe>\n";
        break;
      case 2:
        body_ += "<map name=m>" + tag("area", "href", text) + "</map>\n";
        break;
      default:
        body_ += tag("a", "href", text) + "link</a>\n";
        break;
    }
  }

  // Markup that is not a link, or leads nowhere new. A crawler must never request anything under
  // /trap/.
  void odd_links() {
    body_ +=
        "<a href=\"mailto:someone@example.org\">m</a><a href='javascript:void(0)'>j</a>\n"
        "<a href=\"data:text/html,x\">d</a><a href=\"http://[/trap\">invalid</a>\n"
        "<a name=\"part-1\">none</a><a href=\"#part-2\">fragment</a><a href=\"\">self</a>\n";
    switch (pick(6)) {
      case 0:
        body_ += "<!-- <a href=\"/trap/comment\">no</a> -->\n";
        break;
      case 1:
        body_ += "<script>var x = '<a href=\"/trap/script\">no</a>';</script>\n";
        break;
      case 2:
        body_ += "<textarea><a href=\"/trap/textarea\">no</a></textarea>\n";
        break;
      case 3:
        body_ += "<img src=\"/trap/image.gif\" alt=\"<a href='/trap/alt'>\">\n";
        break;
      case 4:
        body_ += "<a data-href=\"/trap/data\">no</a><form action=\"/trap/form\"></form>\n";
        break;
      default:
        body_ += "<style>a { background: url(/trap/style) }</style>\n";
        break;
    }
  }

  // The page as a whole has a little more.
  void fill() {
    for (int line = 1; body_.size() < web_.page_bytes(); ++line)
      body_ += fmt::format("<p>Line {} of a <b>page</b> that is <i>filled up</i>.</p>\n", line);
  }

  std::string document() const {
    const std::string title = fmt::format("Page {} of the sample site", page_);
    switch (shape_) {
      case Shape::kUpperCase:
        return fmt::format("<HTML><HEAD><TITLE>{}</TITLE>{}</HEAD><BODY>{}</BODY></HTML>\n", title,
                           head_, body_);
      case Shape::kFrameset:
        return fmt::format(
            "<html><head><title>{}</title>{}</head>"
            "<frameset cols=\"50%,50%\">{}</frameset></html>\n",
            title, head_, body_);
      case Shape::kPlain:
        break;
    }
    return fmt::format(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{}</title>{}"
        "</head>\n<body><h1>{}</h1>\n{}</body></html>\n",
        title, head_, title, body_);
  }

  const SampleWeb& web_;
  std::uint64_t page_;
  std::uint64_t state_;
  SampleResource base_;
  Shape shape_ = Shape::kPlain;
  std::string head_;
  std::string body_;
};

}  // namespace

std::string sample_page_html(const SampleWeb& web, std::uint64_t page) {
  return PageWriter(web, page).write();
}

}  // namespace trawl
